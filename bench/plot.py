"""Draws the results: `plot.py bench.json bench.png`. Needs matplotlib and no module of this project."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

COLORS = {"met": "#2a9d8f", "missed": "#e76f51", "undecided": "#8d99ae"}
LIMIT = "#264653"


def draw(results: dict[str, Any], picture: Path) -> None:
    """Draw one bar per row with the interval of its ratio, and a dark line at its limit."""
    rows = [row for row in results["rows"] if row["theirs"] is not None][::-1]
    figure, axes = pyplot.subplots(figsize=(11, 1.6 + 0.42 * len(rows)))
    for place, row in enumerate(rows):
        low, high = row["interval"]
        error = [[max(0, row["ratio"] - low)], [max(0, high - row["ratio"])]]
        axes.barh(place, row["ratio"], xerr=error, color=COLORS[row["verdict"]], height=0.6, capsize=3)
        axes.plot([row["limit"]] * 2, [place - 0.4, place + 0.4], color=LIMIT, linewidth=2.5)
        axes.text(0.0105, place, f"{row['ratio']:.2g} ", va="center", ha="left", color="white", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row['row']}\nagainst {row['against']}" for row in rows], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlim(left=0.01)
    axes.axvline(1, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("ours / theirs (log scale); the dark line is the bar; whiskers are intervals")
    seen = results["machine"]
    axes.set_title(f"hvdocker: {seen['cpus']} cores, {seen['memory_gb']} GB, Python {seen['python']}", fontsize=10)
    figure.tight_layout()
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
