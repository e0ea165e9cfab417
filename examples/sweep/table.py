"""Prints the results of a sweep as a table, the best trial first. Needs only Python.

    hvdocker fetch JOB results
    python examples/sweep/table.py results

The folder, and all folders in it, are searched for `trial-N.json`."""

import json
import sys
from pathlib import Path

COLUMNS = {"trial": "d", "rate": "g", "width": "d", "loss": ".4f", "accuracy": ".4f", "seconds": ".1f", "host": "s"}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    results = [json.loads(path.read_text()) for path in folder.rglob("trial-*.json")]
    if not results:
        sys.exit(f"no trial-N.json in {folder}")
    results.sort(key=lambda result: (-result["accuracy"], result["trial"]))
    rows = [list(COLUMNS), *([format(result[name], kind) for name, kind in COLUMNS.items()] for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
