"""Defines `Command`, a command as a tuple of words. `Command.line` turns it into a line for a shell. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A program with its arguments, as separate words. The words are not quoted; `line` quotes them."""

    argv: tuple[str, ...]

    def line(self) -> str:
        """Return the command as one line of text, quoted for a POSIX shell."""
        return shlex.join(self.argv)

    def as_root(self) -> Command:
        """Return the same command, run by `sudo -n`. sudo then fails instead of asking for a password."""
        return Command(("sudo", "-n", *self.argv))


def command(*argv: str) -> Command:
    return Command(argv)


def shell(script: str, *arguments: str) -> Command:
    """Return a command that runs the POSIX shell script `script` in the locale C.

    The `arguments` are $1, $2, … in the script. Pass values as arguments; do not put them into the text of the
    script."""
    # With another locale, words such as the OK of sha256sum are translated.
    return Command(("sh", "-c", f"LC_ALL=C; export LC_ALL; {script}", "sh", *arguments))
