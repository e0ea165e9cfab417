"""Shows the output of `exec`. With several hosts, every line begins with the coloured name of its host."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from hvdocker.console.style import RANK_COLOURS
from hvdocker.console.views.job import with_colours


class HostView:
    """Prints the output lines of a command on several hosts.

    Lines of the command's stderr go to stderr, so that a pipe gets only the command's stdout."""

    def __init__(self, out: Console, err: Console, hosts: Sequence[str]) -> None:
        self._out = out
        self._err = err
        self._hosts = tuple(hosts)
        self._width = max((len(host) for host in hosts), default=0)

    def __call__(self, host: str, line: str, is_error: bool) -> None:
        text = Text()
        if len(self._hosts) > 1:
            colour = RANK_COLOURS[self._hosts.index(host) % len(RANK_COLOURS)]
            text = Text(f"{host:<{self._width}} ", style=colour)
            text.append("│ ", style="quiet")
        text.append_text(with_colours(line))
        (self._err if is_error else self._out).print(text)
