"""The results as a table on the terminal, as JSON and as a plot. Files go to bench/results/, outside git. KEPT is in
git: the last results that were kept, with which a run is compared."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.measure import Measured

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
KEPT = FOLDER / "kept.json"
HEADERS = ("row", "against", "ours", "theirs", "ratio", "interval", "before", "bar", "")
LEFT_ALIGNED = (0, 1, 8)
# A row is recognized by its name and by what it is compared with.
Key = tuple[str, str]


def table(measured: Sequence[Measured], before: Mapping[Key, float]) -> str:
    """Return the table as plain text: names left-aligned, numbers right-aligned. `before` has the kept ratios."""
    rows = [HEADERS, *(cells(one, before.get((one.row, one.against))) for one in measured)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADERS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in LEFT_ALIGNED else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def cells(one: Measured, before: float | None) -> tuple[str, ...]:
    low, high = one.interval
    return (
        one.row,
        one.against,
        f"{number(one.ours)} {one.unit}",
        "" if one.theirs is None else f"{number(one.theirs)} {one.unit}",
        "" if one.theirs is None else number(one.ratio),
        f"{number(low)}–{number(high)}",
        "" if before is None else f"{number(before)} ({one.ratio / before - 1:+.0%})",
        one.bar if one.theirs is not None else f"{one.bar} {one.unit}",
        one.verdict if one.verdict != "undecided" else f"undecided after {one.rounds} rounds",
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
    content = {"machine": machine(), "rows": [asdict(one) for one in measured]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_kept(path: Path = KEPT) -> dict[Key, float]:
    """Return the kept ratios by row; none if nothing was kept."""
    if not path.exists():
        return {}
    return {(row["row"], row["against"]): row["ratio"] for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}


def keep(results: Path, path: Path = KEPT) -> None:
    """Put the rows of a results file into the kept ones. Rows that were not measured now stay as they were."""
    new = json.loads(results.read_text(encoding="utf-8"))
    old = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = {(row["row"], row["against"]): row for row in [*old, *new["rows"]]}
    content = {"machine": new["machine"], "rows": list(rows.values())}
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
