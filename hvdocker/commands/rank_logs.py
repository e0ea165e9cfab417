"""The ranks' own logs on a host: which there are, and the end of one."""

from __future__ import annotations

import re

from hvdocker.commands.command import Command, shell

_NAME = re.compile(r"rank-([0-9]{1,9})\.log")


def list_rank_logs(folder: str) -> Command:
    """The files in a job's folder on the host, a line each."""
    return shell(
        'cd -- "$1/logs" 2>/dev/null || exit 0; for f in rank-*.log; do [ -f "$f" ] && echo "$f"; done; true',
        folder,
    )


def read_rank_logs(text: str) -> list[int]:
    """The ranks, in order."""
    found = (_NAME.fullmatch(line) for line in text.splitlines())
    return sorted(int(name[1]) for name in found if name)


def end_of_rank_log(folder: str, rank: int, most_bytes: int) -> Command:
    """The last bytes of what a rank said; the part before the present file counts too."""
    script = 'for f in "$1.1" "$1"; do [ -f "$f" ] && cat -- "$f"; done | tail -c "$2"'
    return shell(script, f"{folder}/logs/rank-{rank}.log", str(most_bytes))
