"""Keeps one long-lived ssh login to each host of an elastic job. The end of a login shows that its host is
gone. Repeated short logins would show the same, but would fill the log of every sshd."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable

from inside.runtime.child import kill_group
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop

RETRY_S = 1.5
# A login that has not succeeded by then is ended and tried again.
LOGIN_TIMEOUT_S = 12.0
# The worker prints one line, which shows that the login works, then waits until this end closes stdin.
LOGIN_COMMAND = "echo in; exec cat"


class Login:
    """The ssh login to one host; `command` is the ssh command. After the login has ended or failed, it is tried again
    RETRY_S later. `is_logged_in` says whether the login works now; `changed` is called when that changes. The event
    loop asks `due` when to wake up, and then calls `tick`."""

    def __init__(self, loop: Loop, command: list[str], changed: Callable[[], None]) -> None:
        self.is_logged_in = False
        self._loop = loop
        self._command = command
        self._changed = changed
        self._process: subprocess.Popen[bytes] | None = None
        self._due: float | None = time.monotonic()

    def due(self) -> float | None:
        return self._due

    def tick(self) -> None:
        """End a login that was lost, or that has not succeeded within LOGIN_TIMEOUT_S. Start the login again when its
        next try is due."""
        if self._process and self._process.poll() is not None:
            self._end()
        if self._due is not None and time.monotonic() >= self._due:
            if self._process:
                self._end()
            else:
                self._begin()

    def close(self) -> None:
        """End the login and do not try again."""
        if self._process:
            self._end()
        self._due = None

    def _begin(self) -> None:
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        try:
            process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=quiet, start_new_session=True)
        except OSError:
            self._due = time.monotonic() + RETRY_S
            return
        assert process.stdout is not None
        self._process = process
        self._due = time.monotonic() + LOGIN_TIMEOUT_S
        self._loop.watch(process.stdout.fileno(), self._hear)

    def _hear(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        if not os.read(self._process.stdout.fileno(), 4096):
            self._end()
        elif not self.is_logged_in:
            self.is_logged_in, self._due = True, None
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
        if self.is_logged_in:
            self.is_logged_in = False
            self._changed()


class Logins:
    """The long-lived ssh logins to the hosts of an elastic job. `changed` is called when a login begins to work or no
    longer works."""

    def __init__(self, loop: Loop, layout: Layout, changed: Callable[[], None]) -> None:
        self._loop = loop
        self._layout = layout
        self._changed = changed
        self._sessions: dict[str, Login] = {}

    def keep(self, hosts: Iterable[str]) -> None:
        """Log in to exactly these hosts: open missing logins and close all others."""
        wanted = set(hosts)
        for host in set(self._sessions) - wanted:
            self._close(host)
        for host in wanted - set(self._sessions):
            session = Login(self._loop, self._layout.ssh(host, LOGIN_COMMAND), self._changed)
            self._sessions[host] = session
            self._loop.add(session)

    def logged_in(self) -> set[str]:
        """Return the hosts whose login works now."""
        return {host for host, session in self._sessions.items() if session.is_logged_in}

    def close(self) -> None:
        """Close all logins: none may outlive the supervisor."""
        for host in tuple(self._sessions):
            self._close(host)

    def _close(self, host: str) -> None:
        session = self._sessions.pop(host)
        self._loop.remove(session)
        session.close()
