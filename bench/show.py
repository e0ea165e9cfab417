"""The results as a table on the terminal, as JSON and as a plot. Files go to bench/results/, outside git."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.measure import Measured

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
HEADERS = ("row", "against", "ours", "theirs", "ratio", "spread", "bar", "")


def table(measured: Sequence[Measured]) -> str:
    """Return the table as plain text: names left-aligned, numbers right-aligned."""
    rows = [HEADERS, *(cells(one) for one in measured)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADERS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 1, 7) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def cells(one: Measured) -> tuple[str, ...]:
    low, high = one.spread
    return (
        one.row,
        one.against,
        f"{number(one.ours)} {one.unit}",
        "" if one.theirs is None else f"{number(one.theirs)} {one.unit}",
        "" if one.theirs is None else number(one.ratio),
        f"{number(low)}–{number(high)}",
        one.bar if one.theirs is not None else f"{one.bar} {one.unit}",
        one.verdict,
    )


def number(value: float) -> str:
    """Return the number with three significant digits; whole from 100 up."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def machine() -> dict[str, object]:
    """Return what a reader has to know about this machine to interpret the seconds."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpus": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def write_json(measured: Sequence[Measured], path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    content = {"machine": machine(), "rows": [asdict(one) | {"verdict": one.verdict} for one in measured]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def plot(results: Path, picture: Path, peers: Path) -> str | None:
    """Draw the plot with the Python of the peers' environment, which has matplotlib.

    Return None, or why it failed."""
    argv = [str(peers / "bin" / "python"), str(FOLDER / "plot.py"), str(results), str(picture)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    # A process that was killed writes no message.
    return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
