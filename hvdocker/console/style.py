"""The consoles: results go to stdout, everything else to stderr.

Both print plain text if the stream is no terminal. Both remove control sequences from all text."""

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
    """A console that removes control sequences from everything that is printed.

    All output passes through `render`, so no caller can forget to sanitize. Control segments (such as cursor
    movements) come from rich itself and pass unchanged."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(sanitized(segment.text), segment.style)


def out() -> Console:
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


def write_script(text: str) -> None:
    """Write a shell script to stdout. In a file or a pipe it is unchanged; on a terminal control sequences are
    removed."""
    sys.stdout.write(sanitized(text) if sys.stdout.isatty() else text)


def _console(stream: TextIO) -> Console:
    """Return a console for the stream. A file or pipe gets tables of up to 200 columns, so that rows are not wrapped.

    NO_COLOR and the check whether the stream is a terminal are left to rich."""
    width = None if stream.isatty() else 200
    return SanitizedConsole(
        file=stream, theme=_THEME, highlight=False, soft_wrap=True, emoji=False, markup=False, width=width
    )
