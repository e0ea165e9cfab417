"""Parse the output of a job into lines with their rank and host. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Horovod's --prefix-output-with-timestamp puts a date before its prefix.
_DATE = r"(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
# The supervisor adds the host (`[1@c]<stdout>:`) if a rank is not on the host that the placement names.
_RANK = r"\[(\d+)(?:,\d+)?(?:@([^\]]*))?\]"
_PREFIX = re.compile(_DATE + _RANK + r"<(stdout|stderr)>:?(.*)", re.DOTALL)
_PREFIX_ONLY = re.compile(_DATE + _RANK + r"<(?:stdout|stderr)>:?")


@dataclass(frozen=True)
class Line:
    """A line of a job's output without its prefix. `rank` and `host` are None for the launcher's own lines.
    `is_error`: the rank wrote it to stderr."""

    text: str
    rank: int | None = None
    host: str | None = None
    is_error: bool = False


@dataclass(frozen=True)
class LineFilter:
    """Selects lines of output. A line must match all fields; an empty field matches every line. The launcher's own
    lines have no rank and no host, so a selection by rank or host excludes them."""

    ranks: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def matches(self, line: Line) -> bool:
        if self.ranks and line.rank not in self.ranks:
            return False
        if self.hosts and line.host not in self.hosts:
            return False
        return self.pattern is None or bool(self.pattern.search(line.text))


def parse_line(raw: str, host_of_rank: Sequence[str]) -> Line:
    """Split a raw line into its prefix (rank, host, stream) and its text. `host_of_rank` has the host of each rank
    by the placement; a host in the prefix takes precedence."""
    found = _PREFIX.match(raw)
    if not found:
        return Line(raw)
    rank = int(found[1])
    usual = host_of_rank[rank] if rank < len(host_of_rank) else None
    return Line(found[4], rank, found[2] or usual, found[3] == "stderr")


class LineAssembler:
    """Assembles chunks of bytes into whole lines. Of a progress bar, which is drawn with carriage returns, only
    the last state is kept."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            yield from _last_states(line)

    def flush(self) -> Iterator[str]:
        if self._rest:
            yield from _last_states(self._rest)
            self._rest = b""


def _last_states(line: bytes) -> list[str]:
    """Return the last state of a line that was overwritten with carriage returns.

    horovodrun puts a prefix before every state, and may put the output of another rank in between. Then several
    lines are returned."""
    shown: list[tuple[str, str]] = []
    for piece in line.decode("utf-8", "replace").rstrip("\r").split("\r"):
        found = _PREFIX_ONLY.match(piece)
        head = found[0] if found else shown[-1][0] if shown else ""
        text = piece[len(head) :] if found else piece
        if shown and shown[-1][0] == head:
            shown.pop()
        shown.append((head, text))
    return [head + text for head, text in shown]
