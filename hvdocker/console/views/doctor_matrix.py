"""Shows the connections between hosts as a matrix: a row per source host, a column per target host."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.console.narrow_table import Row, narrow_table
from hvdocker.console.views.doctor_findings import MARK_STYLES, MARK_WORDS
from hvdocker.doctor.report import Mark, PairReport, worst_mark
from hvdocker.units import pluralize

# More hosts than this do not fit side by side: then only rows and columns with a problem are shown.
MOST_HOSTS = 12
# The checks whose values a cell with the mark GOOD or WARN shows.
CELL_CHECKS = ("rtt", "bandwidth")
_CORNER = "from \\ to"


def show_matrix(console: Console, pairs: Sequence[PairReport]) -> None:
    """Print the matrix of connections.

    With more than MOST_HOSTS columns, print the number of good pairs, and only those rows and columns that have a
    problem. If these columns are still too many, print no matrix."""
    rows = list(dict.fromkeys(pair.start for pair in pairs))
    ends = {pair.end for pair in pairs}
    columns = [*(name for name in rows if name in ends), *sorted(ends - set(rows))]
    if len(columns) > MOST_HOSTS:
        troubled = [pair for pair in pairs if _mark(pair) is not Mark.GOOD]
        if not troubled:
            console.print(Text(f"all {pluralize(len(pairs), 'way')} between hosts are good", style="good"))
            return
        console.print(f"{len(pairs) - len(troubled)} of {pluralize(len(pairs), 'way')} between hosts are good")
        rows = [name for name in rows if any(pair.start == name for pair in troubled)]
        columns = [name for name in columns if any(pair.end == name for pair in troubled)]
        if len(columns) > MOST_HOSTS:
            return
    console.print(_table(rows, columns, pairs, console.width))


def _table(starts: Sequence[str], ends: Sequence[str], pairs: Sequence[PairReport], width: int) -> Table:
    cells = {(pair.start, pair.end): pair for pair in pairs}
    rows: list[Row] = [
        {_CORNER: Text(start, style="bold"), **{end: _cell(cells.get((start, end))) for end in ends}}
        for start in starts
    ]
    return narrow_table(rows, width)


def _cell(pair: PairReport | None) -> Text:
    if pair is None:
        return Text("·", style="quiet")
    mark = _mark(pair)
    told = [finding.shown for finding in pair.findings if finding.check in CELL_CHECKS and finding.shown != "?"]
    if mark in (Mark.GOOD, Mark.WARN) and told:
        return Text(f"{MARK_WORDS[mark]} {', '.join(told)}", style=MARK_STYLES[mark])
    wrong = [finding.check for finding in pair.findings if finding.mark is mark and mark is Mark.BAD]
    return Text(" ".join([MARK_WORDS[mark], *wrong[:1]]), style=MARK_STYLES[mark])


def _mark(pair: PairReport) -> Mark:
    return worst_mark(finding.mark for finding in pair.findings)
