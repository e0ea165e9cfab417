"""The log files of single ranks, which every host of a job keeps in the job's folder: shell commands that
list and read them, and parsers of the answers. Pure: opens nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hvdocker.protocol.rank_log import HEADER, HEADER_GREP, LOG_NAME, log_name
from hvdocker.shell.command import Command, shell

_FILE = re.compile(r"hvdocker-file rank-(\d+)\.log")


@dataclass(frozen=True)
class RankLogTail:
    """The end of the log file of one rank. `lines` are its last lines. `start` is how often the job had been restarted
    when the rank last started ($HVDOCKER_RESTART). It is None if the header line with this number is no longer in the
    file, whose size is limited."""

    rank: int
    start: int | None
    lines: tuple[str, ...]


def list_rank_logs(folder: str) -> Command:
    """Return the command that lists the names of the rank logs of a job, such as `rank-0.log`, one a line. `folder` is
    the job's folder on the host. The command prints nothing if there are none."""
    return shell(
        'cd -- "$1/logs" 2>/dev/null || exit 0; for f in rank-*.log; do [ -f "$f" ] && echo "$f"; done; true', folder
    )


def read_rank_logs(text: str) -> list[int]:
    """Parse `text`, the output of the command from `list_rank_logs`; return the numbers of the ranks in order. Lines
    that are no names of rank logs are ignored."""
    found = (LOG_NAME.fullmatch(line) for line in text.splitlines())
    return sorted(int(name[1]) for name in found if name)


def end_of_rank_log(folder: str, rank: int, most_bytes: int) -> Command:
    """Return the command that prints the last `most_bytes` bytes of a rank's log. `folder` is the job's folder on the
    host. A log that grew too large was continued in a new file; its older part, `rank-N.log.1`, is printed first."""
    script = 'for f in "$1.1" "$1"; do [ -f "$f" ] && cat -- "$f"; done | tail -c "$2"'
    return shell(script, f"{folder}/logs/{log_name(rank)}", str(most_bytes))


def tail_rank_logs(folder: str, count: int) -> Command:
    """Return the command that prints, for every rank log of a job, its last header (the line that the rank wrapper
    writes at each start) and its last `count` lines. `folder` is the job's folder on the host."""
    script = (
        'cd -- "$1/logs" 2>/dev/null || exit 0; for file in rank-*.log; do [ -f "$file" ] || continue; '
        f'echo "hvdocker-file $file"; grep -a "{HEADER_GREP}" -- "$file" | tail -n 1; '
        'tail -n "$2" -- "$file"; echo; done'
    )
    return shell(script, folder, str(count))


def read_rank_log_tails(text: str) -> list[RankLogTail]:
    """Parse the output of the command from `tail_rank_logs`; return one RankLogTail for each rank."""
    return [_rank_log_tail(rank, block) for rank, block in _blocks(text)]


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    rank, block = None, list[str]()
    for line in text.splitlines():
        found = _FILE.fullmatch(line)
        if found:
            if rank is not None:
                yield rank, block
            rank, block = int(found[1]), []
        else:
            block.append(line)
    if rank is not None:
        yield rank, block


def _rank_log_tail(rank: int, block: list[str]) -> RankLogTail:
    starts = [int(found[1]) for found in map(HEADER.fullmatch, block) if found]
    lines = tuple(line for line in block if line.strip() and not HEADER.fullmatch(line))
    return RankLogTail(rank, max(starts, default=None), lines)
