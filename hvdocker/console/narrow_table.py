"""Makes tables for narrow terminals: whole columns are left out, so that no id, host name or exit code is cut."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

Row = Mapping[str, str | Text]


def narrow_table(
    rows: Sequence[Row],
    width: int,
    left_out_first: Sequence[str] = (),
    wrapped: Collection[str] = (),
    right: Collection[str] = (),
    gap: int = 2,
) -> Table:
    """Return a table of the rows. Each row maps the headings of the columns to cells.

    Cells of the columns `wrapped` may be wrapped at blanks. Columns in `right` are aligned at the right. `gap` is the
    number of blanks between columns."""
    columns = list(rows[0])
    widths = {name: max(len(name), *(_needed(row[name], name in wrapped) for row in rows)) + gap for name in columns}
    for name in left_out_first:
        if name in columns and sum(widths[kept] for kept in columns) > width:
            columns.remove(name)
    needed = sum(widths[name] for name in columns)
    # rich cuts the cells of a table that is wider than the terminal, unless the table has a width of its own.
    own_width = needed if needed > width else None
    table = Table(box=None, pad_edge=False, header_style="quiet", width=own_width, padding=(0, gap, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name not in wrapped)
    for row in rows:
        table.add_row(*(row[name] for name in columns))
    return table


def _needed(cell: str | Text, is_wrapped: bool) -> int:
    """Return how many columns of the terminal a cell needs.

    A cell that may be wrapped needs as many as its longest word."""
    words = str(cell).split(" ") if is_wrapped else [str(cell)]
    return max(map(cell_len, words))
