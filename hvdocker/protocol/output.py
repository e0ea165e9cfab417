"""A job's output, line by line: which rank on which host said it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Horovod's own prefix, which its --prefix-output-with-timestamp puts a date in front of.
_DATE = r"(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
# The supervisor puts the host into it where it is not the one that the placement says.
_RANK = r"\[(\d+)(?:,\d+)?(?:@([^\]]*))?\]"
_PREFIX = re.compile(_DATE + _RANK + r"<(stdout|stderr)>:?(.*)", re.DOTALL)
_HEAD = re.compile(_DATE + _RANK + r"<(?:stdout|stderr)>:?")


@dataclass(frozen=True)
class Line:
    """`rank` is None for what the launcher itself says."""

    text: str
    rank: int | None = None
    host: str | None = None
    is_error: bool = False


@dataclass(frozen=True)
class LineFilter:
    """Which lines are wanted; what is empty wants all. Those of the launcher are no rank's and no host's."""

    ranks: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def takes(self, line: Line) -> bool:
        if self.ranks and line.rank not in self.ranks:
            return False
        if self.hosts and line.host not in self.hosts:
            return False
        return self.pattern is None or bool(self.pattern.search(line.text))


def parse_line(raw: str, host_of_rank: Sequence[str]) -> Line:
    found = _PREFIX.match(raw)
    if not found:
        return Line(raw)
    rank = int(found[1])
    usual = host_of_rank[rank] if rank < len(host_of_rank) else None
    return Line(found[4], rank, found[2] or usual, found[3] == "stderr")


class LineAssembler:
    """Chunks in, whole lines out; progress bars, which live on carriage returns, in their last state."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            yield from _shown(line)

    def flush(self) -> Iterator[str]:
        if self._rest:
            yield from _shown(self._rest)
            self._rest = b""


def _shown(line: bytes) -> list[str]:
    """Of a line that was overwritten in place only its last state; horovodrun puts a prefix before every
    state, and may put another rank's line in between."""
    shown: list[tuple[str, str]] = []
    for piece in line.decode("utf-8", "replace").rstrip("\r").split("\r"):
        found = _HEAD.match(piece)
        head = found[0] if found else shown[-1][0] if shown else ""
        text = piece[len(head) :] if found else piece
        if shown and shown[-1][0] == head:
            shown.pop()
        shown.append((head, text))
    return [head + text for head, text in shown]
