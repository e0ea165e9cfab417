"""For `steps_FRAMEWORK.py GATE`: repeats real collective steps until the file GATE exists in /data. After each
step rank 0 writes a checkpoint, from which the next start of the job continues.

`steps_FRAMEWORK.py GATE RANK FAULT`: after three steps that rank (or all) fails, if this is the job's first
start. FAULT is `exception`, `memory`, `hang`, `talk` (print without end and take no more part), or an exit code."""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Collective(Protocol):
    """What a framework has to offer."""

    rank: int
    size: int

    def add(self, values: Sequence[float]) -> Sequence[float]:
        """Return the sums over all ranks."""


def run(world: Collective, saves: bool) -> None:
    """Repeat steps. `saves`: this rank writes the checkpoint."""
    gate, out = Path("/data") / sys.argv[1], Path(os.environ["HVDOCKER_OUTPUT_DIR"])
    checkpoint = out / "checkpoint.json"
    (out / f"rank-{world.rank}.txt").write_text(f"rank {world.rank} was here\n")
    first = json.loads(checkpoint.read_text())["step"] if saves and checkpoint.exists() else 0
    step = int(world.add([float(first)])[0])
    print(f"begins at step {step} of {world.size} ranks", flush=True)
    is_over = False
    while not is_over:
        if step >= 3 and is_culprit(world.rank):
            break_down(world.rank)
        sums = world.add([1.0, float(gate.exists())])
        is_over = bool(sums[1])
        step += 1
        if saves:
            draft = checkpoint.with_suffix(".part")
            draft.write_text(json.dumps({"step": step, "ranks": int(sums[0])}))
            draft.replace(checkpoint)
        if saves and step % 10 == 0:
            print(f"reached step {step}", flush=True)
        time.sleep(0.05)
    print(f"{gate.name} has come: step {step} of {world.size} ranks", flush=True)


def is_culprit(rank: int) -> bool:
    is_first_start = os.environ.get("HVDOCKER_RESTART", "0") == "0"
    return is_first_start and len(sys.argv) > 2 and sys.argv[2] in (str(rank), "all")


def break_down(rank: int) -> None:
    fault = sys.argv[3]
    print(f"rank {rank} breaks: {fault}", flush=True)
    if fault == "exception":
        raise RuntimeError("the data make no sense")
    if fault == "memory":
        hoard = []
        while True:
            hoard.append(b"x" * (1 << 26))
    if fault == "hang":
        time.sleep(3600)
    while fault == "talk":
        print("and on and on", flush=True)
        time.sleep(0.2)
    os._exit(int(fault))
