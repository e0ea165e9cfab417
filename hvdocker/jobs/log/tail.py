"""The last lines of a job's log, without reading all of it, and where to go on after them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hvdocker.launchers.horovod_output import without_noise
from hvdocker.protocol.output import Line, LineAssembler, LineFilter, parse_line
from hvdocker.protocol.placement import Placement

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# Some lines are no news, and left out: so many more are asked for at first.
SLACK = 200
WIDER = 8


@dataclass(frozen=True)
class LogTail:
    """Who goes on reads from `since`, a whole second, and leaves out the `skip` lines that were read here."""

    lines: tuple[Line, ...]
    since: float | None = None
    skip: int = 0


@dataclass(frozen=True)
class _Piece:
    """What an engine keeps as one: mostly a line; of a long one a part."""

    second: float
    data: bytes


def read_tail(
    link: HostLink,
    container: str,
    placement: Placement,
    count: int,
    wanted: LineFilter,
    since: float | None = None,
    is_open: bool = False,
) -> LogTail:
    """`count` lines of those that are wanted. A log that is open may end in half a line, which is left to
    whoever goes on. Engines tell the time of every piece, and begin where they are told to by time only: so
    the last second has to be in what was read, from its beginning."""
    asked = count + SLACK
    while True:
        pieces = _pieces(link, container, asked, since)
        is_whole = len(pieces) < asked
        found = [line for line in without_noise(_lines(pieces, placement, is_open)) if wanted.takes(line)]
        last = pieces[-1].second if pieces else 0.0
        has_last_second = any(piece.second < last for piece in pieces[:1])
        if is_whole or (len(found) >= count and has_last_second):
            break
        asked *= WIDER
    shown = tuple(found[-count:]) if count else ()
    begin = since if is_whole else last
    read = [piece for piece in pieces if begin is None or is_whole or piece.second >= begin]
    return LogTail(shown, begin, sum(1 for _ in _lines(read, placement, is_open)))


def _lines(pieces: Iterable[_Piece], placement: Placement, is_open: bool) -> Iterator[Line]:
    host_of_rank = placement.host_of_rank()
    assembler = LineAssembler()
    for piece in pieces:
        for raw in assembler.feed(piece.data):
            yield parse_line(raw, host_of_rank)
    for raw in () if is_open else assembler.flush():
        yield parse_line(raw, host_of_rank)


def _pieces(link: HostLink, container: str, count: int, since: float | None) -> list[_Piece]:
    from hvdocker.engine.container_access import asking_container

    with asking_container(link, container, "reading the job's output"):
        engine = link.engine()
        stream = engine.logs(container, stream=True, follow=False, timestamps=True, tail=count, since=since)
        pieces = [_piece(chunk) for chunk in stream]
        # A stream that was cut off looks like one that ended: the link has to be alive after it.
        engine.inspect_container(container)
    return pieces


def _piece(chunk: bytes) -> _Piece:
    """`2024-05-04T03:02:01.123456789Z words`"""
    stamp, _, data = chunk.partition(b" ")
    found = re.match(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", stamp)
    if not found:
        return _Piece(0.0, chunk)
    when = datetime.strptime(found[0].decode(), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return _Piece(when.timestamp(), data)
