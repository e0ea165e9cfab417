"""Consoles: results go to stdout, everything else to stderr; plain text where there is no terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.theme import Theme

_THEME = Theme(
    {"what": "bold red", "fix": "green", "command": "cyan", "quiet": "dim", "good": "green", "stage": "bold"}
)
RANK_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_red", "bright_cyan", "bright_magenta")


def out() -> Console:
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    """rich itself honours NO_COLOR and notices when the stream is no terminal; a pipe gets wide tables
    instead of wrapped ones."""
    width = None if stream.isatty() else 200
    return Console(
        file=stream, theme=_THEME, highlight=False, soft_wrap=True, emoji=False, markup=False, width=width
    )
