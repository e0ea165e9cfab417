"""A command is a tuple of words. The one place that turns words into a shell line is here."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    argv: tuple[str, ...]

    def line(self) -> str:
        """What can be pasted into a POSIX shell."""
        return shlex.join(self.argv)

    def as_root(self) -> Command:
        return Command(("sudo", "-n", *self.argv))


def command(*argv: str) -> Command:
    return Command(argv)


def shell(script: str, *arguments: str) -> Command:
    """A POSIX script; `arguments` arrive as $1, $2, … and need no quoting in the script."""
    # Words such as sha256sum's OK are translated on many hosts.
    return Command(("sh", "-c", f"LC_ALL=C; export LC_ALL; {script}", "sh", *arguments))
