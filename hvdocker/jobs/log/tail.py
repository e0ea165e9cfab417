"""Read the last lines of a job's log without reading all of it, and say where to continue after them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hvdocker.launchers import named
from hvdocker.protocol.output import Line, LineAssembler, LineFilter, parse_line, without_states
from hvdocker.protocol.placement import Placement

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# Some lines are dropped (noise of the launcher, and those that a filter excludes). So this many more lines
# than wanted are requested at first, and GROWTH_FACTOR times as many in every further attempt.
EXTRA_LINES = 200
GROWTH_FACTOR = 8


@dataclass(frozen=True)
class LogTail:
    """The last lines of a log, and where another reader has to continue. That reader reads the log from `since` (a Unix
    time; None is the beginning of the log) and drops the first `skip` lines, because they were already read."""

    lines: tuple[Line, ...]
    since: float | None = None
    skip: int = 0


@dataclass(frozen=True)
class _Piece:
    """One entry of the engine's log: mostly a line, or a part of a long line. `second` is its time stamp as a Unix
    time in whole seconds, `data` its text without the time stamp."""

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
    launcher: str = "",
) -> LogTail:
    """Return the last `count` lines in the log of the master `container` that pass the filter `wanted`, and where a
    reader continues after them. `placement` says on which host each rank is. Lines before `since` (a Unix time) are
    left out; None means no limit. With `is_open` (the job still runs) an unfinished last line is not returned, but left
    to that reader. `launcher` is the name of the job's launcher: its `filter` removes lines that it wrote itself and
    that say nothing new.

    An engine can send a log from a certain time on, but not from a certain line on. So this function reads at least
    the whole last second of the log. The other reader begins with that second again, or at `since` if this function
    has read everything after `since`. It skips the lines that this function has read."""
    asked = count + EXTRA_LINES
    while True:
        pieces = _pieces(link, container, asked, since)
        is_whole = len(pieces) < asked
        lines = without_states(_lines(pieces, placement, is_open), is_open)
        found = [line for line in named(launcher).filter(lines) if wanted.matches(line)]
        last = pieces[-1].second if pieces else 0.0
        has_last_second = any(piece.second < last for piece in pieces[:1])
        if is_whole or (len(found) >= count and has_last_second):
            break
        asked *= GROWTH_FACTOR
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
    from hvdocker.engine.container_errors import translating_container_errors

    with translating_container_errors(link, container, "reading the job's output"):
        engine = link.engine()
        stream = engine.logs(container, stream=True, follow=False, timestamps=True, tail=count, since=since)
        pieces = [_piece(chunk) for chunk in stream]
        # The SDK ends a stream silently when the link breaks: this call raises if the link is dead.
        engine.inspect_container(container)
    return pieces


def _piece(chunk: bytes) -> _Piece:
    """Parse an entry of the engine's log, like `2024-05-04T03:02:01.123456789Z text`. An entry without a time stamp
    gets the second 0 (the year 1970)."""
    stamp, _, data = chunk.partition(b" ")
    found = re.match(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", stamp)
    if not found:
        return _Piece(0.0, chunk)
    when = datetime.strptime(found[0].decode(), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return _Piece(when.timestamp(), data)
