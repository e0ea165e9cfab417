"""A job's output as one stream, over links that may break: what was read once is not read again, and nothing
in between is lost. Engines stamp every piece with its time, by which reading goes on from where it was; old
pieces may be gone by then, because engines keep a bounded log."""

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

# Given what broke, another link to the same host; raises where there is none to be had.
Again = Callable[[HvdockerError], "HostLink"]

# Two streams of a container may be stamped in another order than they are written, by moments.
_SECONDS_KEPT = 3
_STAMPED = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z ")


@dataclass
class LogReader:
    """`link` is the one that is read from now; `runs` tells whether the job does. Without `again` a link that
    breaks is an error."""

    link: HostLink
    container: str
    runs: Callable[[HostLink], bool]
    again: Again | None = None
    tail: int | None = None
    since: float | None = None
    _recent: dict[bytes, list[bytes]] = field(default_factory=dict, init=False)

    def pieces(self) -> Iterator[bytes]:
        """Until the job has ended. An engine may end a stream early (its own restart): while the job runs,
        it is opened again."""
        is_over = False
        while not is_over:
            try:
                yield from self._stream(follow=True)
                is_over = not self.runs(self.link)
                if is_over:
                    yield from self._stream(follow=False)
            except (HostUnreachable, HostUnfit) as error:
                if self.again is None:
                    raise
                self.link = self.again(error)
                is_over = False

    def _stream(self, follow: bool) -> Iterator[bytes]:
        from hvdocker.engine.container_access import asking_container

        known = Counter(piece for pieces in self._recent.values() for piece in pieces)
        with asking_container(self.link, self.container, "reading the job's output"):
            for piece in self.link.engine().logs(
                self.container, stream=True, follow=follow, timestamps=True, **self._from()
            ):
                if known[piece]:
                    known[piece] -= 1
                    continue
                found = _STAMPED.match(piece)
                if found:
                    self._keep(found[1], piece)
                yield piece[found.end() :] if found else piece

    def _from(self) -> dict[str, object]:
        if not self._recent:
            begin = {} if self.since is None else {"since": self.since}
            return {"tail": "all" if self.tail is None else self.tail, **begin}
        oldest = datetime.strptime(min(self._recent).decode(), "%Y-%m-%dT%H:%M:%S")
        return {"since": int(oldest.replace(tzinfo=timezone.utc).timestamp())}

    def _keep(self, second: bytes, piece: bytes) -> None:
        if second not in self._recent:
            self._recent[second] = []
            for old in sorted(self._recent)[:-_SECONDS_KEPT]:
                del self._recent[old]
        if second in self._recent:
            self._recent[second].append(piece)
