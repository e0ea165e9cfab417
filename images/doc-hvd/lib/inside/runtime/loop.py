"""One event loop for signals, files and deadlines, so that a stop request is seen whatever the supervisor is
doing."""

import select
import signal
import time
from collections.abc import Callable
from typing import Protocol

from inside.runtime.signals import SignalPipe

# poll() takes at most about 24 days (a 32-bit number of milliseconds).
MAX_WAIT_S = 3600.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class LoopMember(Protocol):
    """An object that acts at certain times, or after a process has ended."""

    def due(self) -> float | None:
        """Return when to act next, on the monotonic clock; None if nothing is planned."""

    def tick(self) -> None:
        """Act if there is something to do. Called after every wait."""


class Loop:
    """Waits for all members at once. `stop_requests` counts the SIGTERM and SIGINT received."""

    def __init__(self) -> None:
        self.stop_requests = 0
        self._wakeups = SignalPipe((*STOP_SIGNALS, signal.SIGCHLD))
        self._poll = select.poll()
        self._poll.register(self._wakeups.fd, select.POLLIN)
        self._readers: dict[int, Callable[[], object]] = {}
        self._members: list[LoopMember] = []

    def watch(self, fd: int, read: Callable[[], object]) -> None:
        """Call `read` whenever `fd` has data or has reached its end."""
        self._readers[fd] = read
        self._poll.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching `fd`. Call this before closing it."""
        if self._readers.pop(fd, None):
            self._poll.unregister(fd)

    def add(self, member: LoopMember) -> None:
        """Add a member."""
        self._members.append(member)

    def remove(self, member: LoopMember) -> None:
        """Remove a member, if it is there."""
        if member in self._members:
            self._members.remove(member)

    def turn(self, until: float | None = None) -> None:
        """Wait once, until `until` or the first event, and let every reader and member act on it."""
        for fd, _event in self._poll.poll(self._wait_ms(until)):
            read = self._readers.get(fd)
            if read:
                read()
        self.stop_requests += sum(number in STOP_SIGNALS for number in self._wakeups.take())
        for member in tuple(self._members):
            member.tick()

    def run_until(self, is_done: Callable[[], bool], deadline: float | None = None) -> None:
        """Run until `is_done` returns True, or until the deadline."""
        while not is_done() and (deadline is None or time.monotonic() < deadline):
            self.turn(deadline)

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until a stop request."""
        self.run_until(lambda: self.stop_requests > 0, time.monotonic() + seconds)

    def _wait_ms(self, until: float | None) -> int | None:
        times = [until, *(member.due() for member in self._members)]
        planned = [time_ for time_ in times if time_ is not None]
        if not planned:
            return None
        wait_s = min(min(planned) - time.monotonic(), MAX_WAIT_S)
        return max(0, int(wait_s * 1000) + 1)
