"""Consoles: results go to stdout, everything else to stderr; plain text where there is no terminal. Nothing
that others wrote can steer the terminal, whichever way it gets here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.theme import Theme

from hvdocker.console.sanitize import sanitized

_THEME = Theme(
    {"what": "bold red", "fix": "green", "command": "cyan", "quiet": "dim", "good": "green", "stage": "bold"}
)
RANK_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_red", "bright_cyan", "bright_magenta")


class SanitizedConsole(Console):
    """Everything that is printed passes `render`; control segments are rich's own (the cursor)."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(sanitized(segment.text), segment.style)


def out() -> Console:
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


def write_script(text: str) -> None:
    """A script to be run is exact in a file or a pipe. On a terminal it is only looked at."""
    sys.stdout.write(sanitized(text) if sys.stdout.isatty() else text)


def _console(stream: TextIO) -> Console:
    """rich itself honours NO_COLOR and notices when the stream is no terminal; a pipe gets wide tables
    instead of wrapped ones."""
    width = None if stream.isatty() else 200
    return SanitizedConsole(
        file=stream, theme=_THEME, highlight=False, soft_wrap=True, emoji=False, markup=False, width=width
    )
