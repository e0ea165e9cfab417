"""A command is a tuple of words. The one place that turns words into a shell line is here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
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
    return Command(("sh", "-c", script, "sh", *arguments))


def all_of(commands: Iterable[Command]) -> str:
    return " && ".join(each.line() for each in commands)
