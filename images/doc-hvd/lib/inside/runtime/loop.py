"""One event loop for signals, files and deadlines, so that a stop request is seen whatever the program is doing."""

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
    """An object that is added to the loop. The loop wakes up at the time that `due` returns, and calls `tick` after
    every wait. So the member can act at its time, or after a process has ended."""

    def due(self) -> float | None:
        """Return the time (`time.monotonic`) of the next action, at which the loop wakes up; None if nothing is
        planned."""

    def tick(self) -> None:
        """Act if there is something to do. The loop calls this after every wait."""


class Loop:
    """Waits for signals, watched files and the due times of all members at once. `stop_requests` counts the SIGTERM and
    SIGINT signals received, which ask the program to stop."""

    def __init__(self) -> None:
        self.stop_requests = 0
        self._wakeups = SignalPipe((*STOP_SIGNALS, signal.SIGCHLD))
        self._poll = select.poll()
        self._poll.register(self._wakeups.fd, select.POLLIN)
        self._readers: dict[int, Callable[[], object]] = {}
        self._members: list[LoopMember] = []

    def watch(self, fd: int, read: Callable[[], object], events: int = select.POLLIN) -> None:
        """Call `read` whenever the file descriptor `fd` has data or has reached its end, until `unwatch` is called.
        `events` may name other events of poll, such as POLLOUT; 0 stands for errors and hang-ups only. A second call
        for the same `fd` replaces the first."""
        self._readers[fd] = read
        self._poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        """Stop watching the file descriptor `fd`. Nothing happens if it is not watched. Call this before closing
        `fd`."""
        if self._readers.pop(fd, None):
            self._poll.unregister(fd)

    def add(self, member: LoopMember) -> None:
        """Add a member: from now on the loop wakes up when the member is due, and calls its `tick` after every
        wait."""
        self._members.append(member)

    def remove(self, member: LoopMember) -> None:
        """Remove a member, if it is there."""
        if member in self._members:
            self._members.remove(member)

    def turn(self, until: float | None = None) -> None:
        """Wait once: for an event, for the first member that is due, or until the time `until` (`time.monotonic`;
        None: no limit). Then call the readers of files with data, count stop requests, and call `tick` of every
        member."""
        for fd, _event in self._poll.poll(self._wait_ms(until)):
            read = self._readers.get(fd)
            if read:
                read()
        self.stop_requests += sum(number in STOP_SIGNALS for number in self._wakeups.take())
        for member in tuple(self._members):
            member.tick()

    def run_until(self, is_done: Callable[[], bool], deadline: float | None = None) -> None:
        """Run the loop until `is_done` returns True, or until the deadline (`time.monotonic`; None: no limit). A stop
        request ends the loop only if `is_done` checks for it."""
        while not is_done() and (deadline is None or time.monotonic() < deadline):
            self.turn(deadline)

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`, or until there is a stop request."""
        self.run_until(lambda: self.stop_requests > 0, time.monotonic() + seconds)

    def _wait_ms(self, until: float | None) -> int | None:
        times = [until, *(member.due() for member in self._members)]
        planned = [time_ for time_ in times if time_ is not None]
        if not planned:
            return None
        wait_s = min(min(planned) - time.monotonic(), MAX_WAIT_S)
        return max(0, int(wait_s * 1000) + 1)
