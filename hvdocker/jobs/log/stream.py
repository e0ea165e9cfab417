"""Read a job's output as one stream over links that may break.

An engine sends a log in pieces (mostly lines), each with a time stamp. When a link breaks, reading continues on a new
link from the time of the last pieces. No piece is yielded twice. A piece is lost only if the engine, whose log is
bounded in size, drops it before the new link is open.

When an engine begins a new log file, it may repeat in the same stream a whole file that it has already sent. The
repeated pieces are skipped too."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypeVar

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# Takes the error that broke the link; returns another link to the same host, or raises.
ReopenLink = Callable[[HvdockerError], "HostLink"]

T = TypeVar("T")

# Stamps of stdout and stderr may be slightly out of order: a stream that is reopened begins with the oldest of this
# many last distinct seconds in which output came.
_SECONDS_BACK = 3
# Of older seconds the hashes of pieces are remembered, in at most so much memory. This is enough for a log file.
_MAX_HASH_BYTES = 16 << 20
# The memory that each of these seconds takes besides its hashes.
_BYTES_PER_SECOND = 200
_STAMPED = re.compile(rb"((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?)Z ")


def read_reopening(link: HostLink, again: ReopenLink | None, read: Callable[[HostLink], T]) -> tuple[HostLink, T]:
    """Return the link on which `read` succeeded, and what `read` returned. If the link breaks or the engine does not
    answer, `again` returns a new link, and `read` is called again; without `again` the error (HostUnreachable or
    HostUnfit) is raised."""
    while True:
        try:
            return link, read(link)
        except (HostUnreachable, HostUnfit) as error:
            if again is None:
                raise
            link = again(error)


@dataclass
class LogReader:
    """Reads the log of a container.

    `link` is the current link; when it breaks or the engine does not answer, `reopen` returns a new one. Without
    `reopen` the error (HostUnreachable or HostUnfit) is raised. `runs` returns whether the job still runs. `tail` (a
    number of last lines) and `since` (a Unix time) say where reading begins.

    The other fields are needed to skip pieces that the engine sends again. `_recent` counts the pieces of the last
    _SECONDS_BACK seconds in which output came, by second. `_older` has the hashes of earlier pieces. `_newest` is
    the newest time stamp. `_known` counts the pieces that were already yielded and that the engine is expected to
    send again."""

    link: HostLink
    container: str
    runs: Callable[[HostLink], bool]
    reopen: ReopenLink | None = None
    tail: int | None = None
    since: float | None = None
    _recent: dict[bytes, Counter[bytes]] = field(default_factory=dict, init=False)
    _older: _PieceHashes = field(default_factory=lambda: _PieceHashes(), init=False)
    _newest: bytes = field(default=b"", init=False)
    _known: Counter[bytes] = field(default_factory=Counter, init=False)

    def pieces(self) -> Iterator[bytes]:
        """Yield the pieces of the log, without their time stamps, until the job has ended.

        An engine may end a stream early, for example when the engine restarts. If the job still runs then, the
        stream is opened again."""
        is_over = False
        while not is_over:
            try:
                yield from self._stream(follow=True)
                is_over = not self.runs(self.link)
                if is_over:
                    yield from self._stream(follow=False)
            except (HostUnreachable, HostUnfit) as error:
                if self.reopen is None:
                    raise
                self.link = self.reopen(error)
                is_over = False

    def _stream(self, follow: bool) -> Iterator[bytes]:
        from hvdocker.engine.container_errors import translating_container_errors

        self._expect_again()
        with translating_container_errors(self.link, self.container, "reading the job's output"):
            for piece in self.link.engine().logs(
                self.container, stream=True, follow=follow, timestamps=True, **self._start_arguments()
            ):
                found = _STAMPED.match(piece)
                if found and self._is_repeated(found[1], found[2], piece):
                    continue
                if found:
                    self._remember(found[2], piece)
                yield piece[found.end() :] if found else piece

    def _expect_again(self) -> None:
        self._known = Counter()
        for pieces in self._recent.values():
            self._known.update(pieces)

    def _is_repeated(self, stamp: bytes, second: bytes, piece: bytes) -> bool:
        """Return whether the piece was yielded before. Call this once for each piece that is received, because it
        counts the piece. `piece` includes its time stamp `stamp`; `second` is the stamp without fractions of a
        second."""
        if stamp > self._newest:
            self._newest = stamp
            return False
        if second not in self._recent:
            return self._older.has(second, piece)
        if not self._known[piece] and stamp < self._newest and self._recent[second][piece]:
            # The engine has gone back.
            self._expect_again()
        if not self._known[piece]:
            return False
        self._known[piece] -= 1
        return True

    def _start_arguments(self) -> dict[str, object]:
        """Return the arguments for the engine's `logs` that say where the stream begins. If nothing was read yet, they
        are made from `tail` and `since`. Otherwise the stream begins with the oldest second in `_recent`, so that no
        piece is missed; pieces that come twice are skipped later."""
        if not self._recent:
            begin = {} if self.since is None else {"since": self.since}
            return {"tail": "all" if self.tail is None else self.tail, **begin}
        oldest = datetime.strptime(min(self._recent).decode(), "%Y-%m-%dT%H:%M:%S")
        return {"since": int(oldest.replace(tzinfo=timezone.utc).timestamp())}

    def _remember(self, second: bytes, piece: bytes) -> None:
        """Remember a piece by `second`, its time stamp without fractions, so that it is skipped if the engine sends it
        again. Pieces of all but the last _SECONDS_BACK seconds in which output came are remembered only as hashes."""
        is_new = second not in self._recent
        self._recent.setdefault(second, Counter())[piece] += 1
        for old in sorted(self._recent)[:-_SECONDS_BACK] if is_new else ():
            self._older.add(old, self._recent.pop(old))


class _PieceHashes:
    """The hashes of pieces, by the second of their time stamp. If they take more than _MAX_HASH_BYTES, the oldest
    seconds are forgotten."""

    def __init__(self) -> None:
        self._hashes: dict[bytes, array[int]] = {}
        self._bytes = 0

    def add(self, second: bytes, pieces: Iterable[bytes]) -> None:
        """Remember more pieces whose time stamps are in `second`, a text such as `2024-05-04T03:02:01`."""
        before = self._hashes.pop(second, array("q"))
        found = self._hashes[second] = array("q", sorted({*before, *map(hash, pieces)}))
        self._bytes += 8 * (len(found) - len(before)) + (0 if before else _BYTES_PER_SECOND)
        while self._bytes > _MAX_HASH_BYTES:
            oldest = next(iter(self._hashes))
            self._bytes -= 8 * len(self._hashes.pop(oldest)) + _BYTES_PER_SECOND

    def has(self, second: bytes, piece: bytes) -> bool:
        hashes, wanted = self._hashes.get(second, array("q")), hash(piece)
        at = bisect_left(hashes, wanted)
        return at < len(hashes) and hashes[at] == wanted
