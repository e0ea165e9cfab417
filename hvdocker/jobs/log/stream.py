"""Read a job's output as one stream over links that may break.

An engine sends a log in pieces (mostly lines), each with a time stamp. When a link breaks, reading continues on a
new link from the time of the last pieces. No piece is yielded twice. A piece is lost only if the engine, whose log
is bounded in size, drops it before the new link is open.

An engine that begins a new log file may send what it has already read of that file once more, in the same stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# Takes the error that broke the link; returns another link to the same host, or raises.
ReopenLink = Callable[[HvdockerError], "HostLink"]

# Stamps of stdout and stderr may be slightly out of order: a stream that is reopened begins this many seconds back.
_SECONDS_BACK = 3
# So many last pieces are remembered, or all of the last seconds if those are more.
_PIECES_KEPT = 50_000
_STAMPED = re.compile(rb"((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?)Z ")


@dataclass
class LogReader:
    """Reads the log of a container as a stream of pieces (mostly lines), and goes on after a broken link.

    `link` is the current link; when it breaks, `reopen` returns a new one. Without `reopen` a broken link is an error.
    `runs` returns whether the job still runs. `tail` (a number of last lines) and `since` (a Unix time) say where
    reading begins; None means the beginning of the log. `_recent` counts the pieces of the last seconds, by second, and
    `_remembered` is their number. `_newest` is the newest time stamp. `_known` counts the pieces that the engine is
    expected to send a second time."""

    link: HostLink
    container: str
    runs: Callable[[HostLink], bool]
    reopen: ReopenLink | None = None
    tail: int | None = None
    since: float | None = None
    _recent: dict[bytes, Counter[bytes]] = field(default_factory=dict, init=False)
    _remembered: int = field(default=0, init=False)
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
        """Return whether the piece was yielded before, so that it has to be skipped. `stamp` is its time stamp as the
        engine wrote it, `second` the same without fractions."""
        if stamp > self._newest:
            self._newest = stamp
            return False
        if not self._known[piece] and stamp < self._newest and self._recent.get(second, Counter())[piece]:
            # The engine has gone back.
            self._expect_again()
        if not self._known[piece]:
            return False
        self._known[piece] -= 1
        return True

    def _start_arguments(self) -> dict[str, object]:
        """Return the arguments for the engine's `logs` call that say where to begin. At first that is where `tail` and
        `since` say. Later it is some seconds before the last piece, and pieces that were yielded already are
        skipped."""
        if not self._recent:
            begin = {} if self.since is None else {"since": self.since}
            return {"tail": "all" if self.tail is None else self.tail, **begin}
        begin_second = sorted(self._recent)[-_SECONDS_BACK:][0]
        oldest = datetime.strptime(begin_second.decode(), "%Y-%m-%dT%H:%M:%S")
        return {"since": int(oldest.replace(tzinfo=timezone.utc).timestamp())}

    def _remember(self, second: bytes, piece: bytes) -> None:
        """Remember a piece by the second of its time stamp. A stream that is reopened begins some seconds back, and the
        pieces that are remembered are skipped."""
        is_new = second not in self._recent
        self._recent.setdefault(second, Counter())[piece] += 1
        self._remembered += 1
        if is_new:
            self._forget_old()

    def _forget_old(self) -> None:
        """Forget the pieces of the oldest seconds, so that memory stays bounded. At least _PIECES_KEPT pieces and the
        last _SECONDS_BACK seconds stay remembered."""
        for old in sorted(self._recent)[:-_SECONDS_BACK]:
            size = self._recent[old].total()
            if self._remembered - size < _PIECES_KEPT:
                return
            self._remembered -= size
            del self._recent[old]
