"""The clock of a host."""

from __future__ import annotations

import re

from hvdocker.shell.command import Command, shell


def clock() -> Command:
    """Seconds since 1970 by the host's clock; busybox leaves the part after the point out."""
    return shell(
        'now=$(date +%s.%N 2>/dev/null); case $now in *[!0-9.]*|"") now=$(date +%s);; esac; echo "$now"'
    )


def read_clock(text: str) -> float | None:
    """The last line: a shell's start-up file may talk before it."""
    lines = text.split()
    return float(lines[-1]) if lines and re.fullmatch(r"\d+(\.\d*)?", lines[-1]) else None
