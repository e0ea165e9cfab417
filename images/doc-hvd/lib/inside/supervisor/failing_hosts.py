"""Hosts whose ranks fail whenever they start. Horovod Elastic takes such a host back for ever, and says
nothing of it: here it is counted, and the host left out."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from inside.protocol.marks import Mark
from inside.runtime.say import say
from inside.supervisor.restarts import end_words

# A rank that lived this long did not fail because of where it was started.
QUICK_S = 60.0
MOST = 3
AGAIN = "a rank failed {} times in a row within a minute of its start (last: {})"


@dataclass(frozen=True)
class DroppedHost:
    """A host that was given up; `then` is drop, or end for the head, without which there is no job."""

    host: str
    times: int
    how: str
    then: str

    def as_json(self) -> dict[str, Any]:  # Any: JSON
        return asdict(self)


class FailingHosts:
    """`drop` is told of a host that takes no further part."""

    def __init__(self, head: str, drop: Callable[[str], None]) -> None:
        self.struck: dict[str, DroppedHost] = {}
        self._head = head
        self._drop = drop
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """A run begins; who was dropped stays out."""
        self._counts.clear()

    def forgive(self, host: str) -> None:
        """It left: what comes back may be another machine, or a mended one."""
        self._counts.pop(host, None)

    def see(self, mark: Mark, is_own: bool) -> bool:
        """A rank has ended, of its own failure or not; whether the run leads nowhere because of it."""
        host = str(mark.get("host"))
        if (mark.get("seconds") or 0) >= QUICK_S:
            self.forgive(host)
        elif is_own and (host == self._head or host not in self.struck):
            self._counts[host] = self._counts.get(host, 0) + 1
            if self._counts[host] >= MOST:
                return self._strike(host, end_words(mark))
        return False

    def _strike(self, host: str, how: str) -> bool:
        times, is_head = self._counts.pop(host), host == self._head
        self.struck[host] = DroppedHost(host, times, how, "end" if is_head else "drop")
        again = AGAIN.format(times, how)
        if is_head:
            say(f"{host}, the head, cannot be dropped, and {again}: ending the run")
        else:
            say(f"{host} is dropped from the job: {again}")
            self._drop(host)
        return is_head
