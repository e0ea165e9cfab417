"""A job's output, line by line: which rank on which host said it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_PREFIX = re.compile(r"\[(\d+)(?:,\d+)?\]<(stdout|stderr)>:?(.*)", re.DOTALL)


@dataclass(frozen=True)
class Line:
    """`rank` is None for what the launcher itself says."""

    text: str
    rank: int | None = None
    host: str | None = None
    is_error: bool = False


def parse_line(raw: str, host_of_rank: Sequence[str]) -> Line:
    found = _PREFIX.match(raw)
    if not found:
        return Line(raw)
    rank = int(found[1])
    host = host_of_rank[rank] if rank < len(host_of_rank) else None
    return Line(found[3], rank, host, found[2] == "stderr")


class LineAssembler:
    """Chunks in, whole lines out. A carriage return ends a line too: progress bars live on them."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            yield _shown(line)

    def flush(self) -> Iterator[str]:
        if self._rest:
            yield _shown(self._rest)
            self._rest = b""


def _shown(line: bytes) -> str:
    """Only the last state of a line that was overwritten in place."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    prefix, mark, rest = text.partition(">:")
    if mark and "\r" in rest:
        return prefix + mark + rest.rsplit("\r", 1)[1]
    return text
