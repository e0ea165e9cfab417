"""The log that a rank has on its host, rank-N.log: its name, and the header line at every start of the rank. Pure."""

from __future__ import annotations

import re

# For grep, and for a whole line; the group is how often the job was restarted before.
HEADER_GREP = "^hvdocker: rank [0-9]* on .*, start [0-9]*,"
HEADER = re.compile(r"hvdocker: rank \d+ on .*, start (\d+),.*")
LOG_NAME = re.compile(r"rank-([0-9]{1,9})\.log")


def log_name(rank: int) -> str:
    """Return the name of the log of a rank. A log that grew too large is continued in a new file; the older part gets
    this name with `.1` appended."""
    return f"rank-{rank}.log"


def log_header(rank: int, host: str, start: str, stamp: str) -> str:
    """Return the header line that is written to the log of a rank each time the rank starts, before its output. `start`
    says how often the job was restarted before, such as `0`. `stamp` is the time of the start, as text."""
    return f"hvdocker: rank {rank} on {host}, start {start}, {stamp}\n"
