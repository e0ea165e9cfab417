"""One loop for signals, files and points in time, so that an ask to stop is heard whatever is under way."""

import select
import signal
import time
from collections.abc import Callable
from typing import Protocol

from inside.runtime.signals import SignalPipe

# A poll takes no more than some 24 days.
LONGEST_WAIT_S = 3600.0
ASKS_TO_STOP = (signal.SIGTERM, signal.SIGINT)


class Member(Protocol):
    """Somebody who has things to do at times, or when a process has ended."""

    def due(self) -> float | None:
        """When, on the monotonic clock, there is something to do next; None where nothing is planned."""

    def tick(self) -> None:
        """Called after every round of waiting."""


class Loop:
    """Waits for all members at once. `stops` counts the asks to stop."""

    def __init__(self) -> None:
        self.stops = 0
        self._wakeups = SignalPipe((*ASKS_TO_STOP, signal.SIGCHLD))
        self._poll = select.poll()
        self._poll.register(self._wakeups.fd, select.POLLIN)
        self._readers: dict[int, Callable[[], object]] = {}
        self._members: list[Member] = []

    def watch(self, fd: int, read: Callable[[], object]) -> None:
        """Call `read` whenever `fd` has something, its end included."""
        self._readers[fd] = read
        self._poll.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """To be called before `fd` is closed."""
        if self._readers.pop(fd, None):
            self._poll.unregister(fd)

    def add(self, member: Member) -> None:
        """From now on it is asked when it is due."""
        self._members.append(member)

    def remove(self, member: Member) -> None:
        """Nothing to do where it is gone already."""
        if member in self._members:
            self._members.remove(member)

    def turn(self, until: float | None = None) -> None:
        """One round: wait for whatever comes first, and let everybody act on it."""
        for fd, _event in self._poll.poll(self._wait_ms(until)):
            read = self._readers.get(fd)
            if read:
                read()
        self.stops += sum(number in ASKS_TO_STOP for number in self._wakeups.take())
        for member in tuple(self._members):
            member.tick()

    def run_until(self, is_done: Callable[[], bool], deadline: float | None = None) -> None:
        """Go on until it is so, or until the deadline."""
        while not is_done() and (deadline is None or time.monotonic() < deadline):
            self.turn(deadline)

    def pause(self, seconds: float) -> None:
        """Wait, but no longer than until an ask to stop."""
        self.run_until(lambda: self.stops > 0, time.monotonic() + seconds)

    def _wait_ms(self, until: float | None) -> int | None:
        times = [until, *(member.due() for member in self._members)]
        planned = [time_ for time_ in times if time_ is not None]
        if not planned:
            return None
        wait_s = min(min(planned) - time.monotonic(), LONGEST_WAIT_S)
        return max(0, int(wait_s * 1000) + 1)
