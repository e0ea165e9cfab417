"""Work that needs no hosts: `--help`, and the placement of very many slots."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.benchmark import Bar, Benchmark, Candidate, Row
from bench.testbed import Testbed, run
from hvdocker.placement.slots import STRATEGIES, Offer, Slot, SlotRequest
from hvdocker.placement.strategies import place

HELLO = """\
import typer
app = typer.Typer()
@app.command()
def hello(name: str = "you") -> None: print("hello", name)
app()
"""


@contextmanager
def _help(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """`hvdocker --help` against `--help` of a typer program of five lines. Both run with the Python that
    hvdocker is installed with, and with cached byte code."""
    program = ground.folder / "hello.py"
    program.write_text(HELLO, encoding="utf-8")
    python = str(Path(ground.binary).with_name("python"))
    quiet = {**os.environ, "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": ""}

    def ours() -> None:
        run([ground.binary, "--help"], env=quiet)

    def theirs() -> None:
        run([python if Path(python).exists() else sys.executable, str(program), "--help"], env=quiet)

    yield {"hvdocker": Candidate(ours), "typer": Candidate(theirs)}


@contextmanager
def _placement(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Place 6,000 ranks on 10,000 GPUs of four models, with all three strategies in sequence. The 2,000
    hosts have three to seven GPUs each, of one model or of several. There is no peer: the bar is in seconds.
    """
    offers = [Offer(f"h{host}", tuple(_gpu(host, number) for number in range(3 + host % 5))) for host in range(2000)]

    def ours() -> None:
        for strategy in STRATEGIES:
            assert place(SlotRequest(6000, strategy), offers).np == 6000

    yield {"hvdocker": Candidate(ours)}


def _gpu(host: int, number: int) -> Slot:
    models = ("A100", "H100", "L40S", "T4")
    return Slot(f"GPU-{host}-{number}", models[(host + number * (host % 3)) % 4], 81920)


BENCHMARKS = (
    Benchmark(
        "help",
        _help,
        (Row("hvdocker --help", "--help of five lines of typer", "hvdocker", "typer", Bar(1.2)),),
        is_quick=True,
    ),
    Benchmark(
        "placement",
        _placement,
        (Row("place on 10,000 GPUs of 2,000 hosts, thrice", "nobody: seconds", "hvdocker", None, Bar(1.0)),),
        is_quick=True,
    ),
)
