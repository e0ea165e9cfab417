"""The command that prints a host's clock, and the parser of its output. Pure."""

from __future__ import annotations

import re

from hvdocker.shell.command import Command, shell


def clock() -> Command:
    """Return a command that prints the time of the host's clock in seconds since 1970, with a fraction.

    On a host whose `date` does not know %N (busybox), it prints whole seconds only."""
    return shell('now=$(date +%s.%N 2>/dev/null); case $now in *[!0-9.]*|"") now=$(date +%s);; esac; echo "$now"')


def read_clock(text: str) -> float | None:
    """Return the seconds in `text`, the output of the command of `clock`, or None if it is not a number."""
    return float(text) if re.fullmatch(r"\d+(\.\d*)?\n?", text) else None
