"""Prints one table. Each pair is measured alternately, medians of five with their spread; a row says whether
it met its bar. `ROWS=connect,call make bench` chooses rows."""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.rows import ROWS, Row, bench_hosts

ROUNDS = 5
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    wanted = [name for name in os.environ.get("ROWS", "").split(",") if name]
    hosts = bench_hosts(8)
    table = []
    for row in ROWS:
        if wanted and not any(row.name.startswith(name) for name in wanted):
            continue
        print(f"bench: {row.name}", file=sys.stderr)
        with row.prepared(hosts) as (ours, theirs):
            table.append(measure(row, ours, theirs))
    show(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "bench.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def measure(row: Row, ours: Callable[[], None], theirs: Callable[[], None]) -> dict[str, object]:
    ours()
    theirs()
    pairs = [(timed(ours), timed(theirs)) for _ in range(ROUNDS)]
    ratios = sorted(mine / other for mine, other in pairs)
    return {
        "row": row.name,
        "against": row.against,
        "ours_s": round(statistics.median(mine for mine, _ in pairs), 4),
        "theirs_s": round(statistics.median(other for _, other in pairs), 4),
        "ratio": round(statistics.median(ratios), 3),
        "spread": [round(ratios[0], 3), round(ratios[-1], 3)],
        "bar": row.bar,
        "verdict": "met" if statistics.median(ratios) <= row.bar else "missed",
    }


def timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def show(table: list[dict[str, object]]) -> None:
    print(f"{'row':<38} {'against':<34} {'ours s':>8} {'theirs s':>8} {'ratio':>6} {'spread':>14} {'bar':>5}")
    for row in table:
        low, high = row["spread"]  # type: ignore[misc]  # two numbers
        print(
            f"{row['row']:<38} {row['against']:<34} {row['ours_s']:>8} {row['theirs_s']:>8} "
            f"{row['ratio']:>6} {low:>6}–{high:<7} {row['bar']:>5} {row['verdict']}"
        )


if __name__ == "__main__":
    main()
