"""Rows of a help page: a label at the left, and its text wrapped beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size

# Wider labels get a line of their own.
_WIDEST_LABEL = 23
_WIDEST_PAGE = 100


def page_width() -> int:
    return max(40, min(get_terminal_size().columns, _WIDEST_PAGE))


def section(title: str, rows: Sequence[tuple[str, str]], label_width: int) -> Iterable[str]:
    """Yield the lines of a section of a help page: its title, then a row for each pair of label and text.

    `label_width` is the width of the column with the labels (see `widest_label`)."""
    yield f"{title}:"
    indent = " " * (label_width + 4)
    for label, text in rows:
        lines = textwrap.wrap(text, page_width() - len(indent), break_on_hyphens=False, break_long_words=False) or [""]
        if len(label) > label_width:
            yield f"  {label}"
        else:
            yield f"  {label:<{label_width}}  {lines.pop(0)}".rstrip()
        yield from (indent + line for line in lines)


def widest_label(labels: Iterable[str]) -> int:
    return max((len(label) for label in labels if len(label) <= _WIDEST_LABEL), default=0)
