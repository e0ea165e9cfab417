"""One long login per host, which tells by its end that the host is gone. Probes would tell the same, and fill
the log of every sshd."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable

from inside.protocol.layout import Layout
from inside.runtime.child import kill_group
from inside.runtime.loop import Loop

RETRY_S = 1.5
# A login that has not got through by then is begun anew.
LOGIN_S = 12.0
# The worker says one line, so that it is known that the login worked, and then waits for our end.
LINE = "echo in; exec cat"


class Login:
    """The login to one host, tried again whenever it has ended."""

    def __init__(self, loop: Loop, command: list[str], changed: Callable[[], None]) -> None:
        self.is_in = False
        self._loop = loop
        self._command = command
        self._changed = changed
        self._process: subprocess.Popen[bytes] | None = None
        self._due: float | None = time.monotonic()

    def due(self) -> float | None:
        return self._due

    def tick(self) -> None:
        """See whether it has ended, or is to be begun."""
        if self._process and self._process.poll() is not None:
            self._end()
        if self._due is not None and time.monotonic() >= self._due:
            if self._process:
                self._end()
            else:
                self._begin()

    def close(self) -> None:
        """For good."""
        if self._process:
            self._end()
        self._due = None

    def _begin(self) -> None:
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=quiet, start_new_session=True
            )
        except OSError:
            self._due = time.monotonic() + RETRY_S
            return
        assert process.stdout is not None
        self._process = process
        self._due = time.monotonic() + LOGIN_S
        self._loop.watch(process.stdout.fileno(), self._hear)

    def _hear(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        if not os.read(self._process.stdout.fileno(), 4096):
            self._end()
        elif not self.is_in:
            self.is_in, self._due = True, None
            self._changed()

    def _end(self) -> None:
        process, self._process = self._process, None
        assert process is not None and process.stdout is not None and process.stdin is not None
        self._loop.unwatch(process.stdout.fileno())
        kill_group(process.pid, signal.SIGKILL)
        process.stdin.close()
        process.stdout.close()
        process.wait()
        self._due = time.monotonic() + RETRY_S
        if self.is_in:
            self.is_in = False
            self._changed()


class Logins:
    """The logins to all hosts that are wanted."""

    def __init__(self, loop: Loop, places: Layout, changed: Callable[[], None]) -> None:
        self._loop = loop
        self._places = places
        self._changed = changed
        self._sessions: dict[str, Login] = {}

    def keep(self, hosts: Iterable[str]) -> None:
        """These hosts, and no others."""
        wanted = set(hosts)
        for host in set(self._sessions) - wanted:
            self._close(host)
        for host in wanted - set(self._sessions):
            session = Login(self._loop, self._places.ssh(host, LINE), self._changed)
            self._sessions[host] = session
            self._loop.add(session)

    def inside(self) -> set[str]:
        """The hosts that are known to be there."""
        return {host for host, session in self._sessions.items() if session.is_in}

    def close(self) -> None:
        """No session outlives the supervisor."""
        for host in tuple(self._sessions):
            self._close(host)

    def _close(self, host: str) -> None:
        session = self._sessions.pop(host)
        self._loop.remove(session)
        session.close()
