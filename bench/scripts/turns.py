"""Lets two jobs that run at the same time train in turn, one block of steps each, so that other work of the machine
disturbs both alike. Words of the command line: the file that says whose turn it is, and 0 or 1 for this job. Rank 0
prints `block N SECONDS` for each block. The first blocks, in which graphs and buffers are made, are left out."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

WARM, BLOCKS, STEPS = 3, 8, 40
DEADLINE_S = 120.0


def train_in_turn(rank: int, barrier: Callable[[], object], step: Callable[[], object]) -> None:
    """Call `step` in blocks. `barrier` waits for all ranks of this job: between blocks, none of them computes."""
    file, own = Path(sys.argv[1]), int(sys.argv[2])
    for number in range(WARM + BLOCKS):
        turn = 2 * number + own
        if rank == 0:
            await_turn(file, turn)
        barrier()
        started = time.perf_counter()
        for _ in range(STEPS):
            step()
        barrier()
        took = time.perf_counter() - started
        if rank == 0:
            if number >= WARM:
                print(f"block {number} {took:.6f}", flush=True)
            part = file.with_name(f"{file.name}.{own}")
            part.write_text(str(turn + 1))
            part.replace(file)


def await_turn(file: Path, turn: int) -> None:
    """Wait until the file says `turn`. Turn 0 needs no file."""
    deadline = time.monotonic() + DEADLINE_S
    while turn and (not file.exists() or int(file.read_text()) != turn):
        if time.monotonic() > deadline:
            raise SystemExit(f"the other job did not end its turn {turn - 1}")
        time.sleep(0.005)
