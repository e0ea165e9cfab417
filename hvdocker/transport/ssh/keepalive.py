"""Detects, within about 30 s, a host that no longer responds although its TCP connection is open.

The kernel cannot detect a frozen sshd, because the host's kernel still acknowledges data. It also cannot detect a dead
host behind a jump host or a ProxyCommand. So a request that must be answered is sent on a connection that has received
no data for KEEPALIVE_AFTER_S. If nothing at all is received for NO_ANSWER_S after that, the connection is closed, and
all pending work on it fails with an error. Any received byte keeps the connection open, because on a slow network the
answer itself may wait behind megabytes of our own upload.

One thread watches all connections of a command. It leaves sending and closing to background threads, because both may
block on a stuck connection."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from paramiko.common import cMSG_GLOBAL_REQUEST
from paramiko.message import Message

from hvdocker.transport.background import BackgroundThreads

KEEPALIVE_AFTER_S = 10.0
NO_ANSWER_S = 20.0
_CHECKS_PER_INTERVAL = 10


@dataclass(frozen=True)
class KeepaliveTimes:
    """The limits of the monitor, in seconds. After `keepalive_after_s` without received data a request is sent. If
    nothing is received for `no_answer_s` after that, the connection is closed."""

    keepalive_after_s: float = KEEPALIVE_AFTER_S
    no_answer_s: float = NO_ANSWER_S

    @property
    def check_every_s(self) -> float:
        """The interval between two checks."""
        return self.keepalive_after_s / _CHECKS_PER_INTERVAL

    @property
    def longest_s(self) -> float:
        """The longest time from the last received byte until the connection is closed. It may be longer if the
        controller is busy."""
        return self.keepalive_after_s + self.no_answer_s + 2 * self.check_every_s


class MonitoredSocket:
    """Wraps the socket of an SSH connection and records when data was last received."""

    def __init__(self, sock: Any) -> None:
        """Wrap `sock`. Its type is `Any` because it may be a socket, a jump host's channel or a ProxyCommand."""
        self._sock = sock
        self.received_at = time.monotonic()

    def recv(self, size: int) -> bytes:
        data: bytes = self._sock.recv(size)
        self.received_at = time.monotonic()
        return data

    def send(self, data: bytes) -> int:
        return self._sock.send(data)  # type: ignore[no-any-return]  # as above

    def __getattr__(self, name: str) -> Any:
        """Return the attribute `name` of the wrapped socket. The result is `Any` because `sock` may have any of several
        types."""
        return getattr(self._sock, name)


class Verdict(Enum):
    FINE = "fine"
    ASK = "ask"
    LOST = "lost"


@dataclass
class MonitoredConnection:
    """The keep-alive state of one connection. `transport` is a paramiko transport with a `monitored_socket`; its type
    is `Any` because paramiko's Transport has no such attribute. `asked_at` is the time when the wait for an answer
    began, None if no answer is awaited. `is_sending` is True while a request waits to be sent."""

    transport: Any
    asked_at: float | None = None
    is_sending: bool = False

    def judge(self, now: float, times: KeepaliveTimes) -> Verdict:
        """Return what to do with the connection now: nothing, send a request, or close it as lost. `now` is a time of
        the monotonic clock, and `times` has the limits.

        If a request is to be sent, the wait for its answer begins: `asked_at` is set to `now`."""
        received_at = self.transport.monitored_socket.received_at
        if self.asked_at is not None and received_at < self.asked_at:
            return Verdict.LOST if now - self.asked_at >= times.no_answer_s else Verdict.FINE
        self.asked_at = now if now - received_at >= times.keepalive_after_s else None
        return Verdict.FINE if self.asked_at is None else Verdict.ASK

    def restart_wait(self, now: float) -> None:
        """If an answer is awaited, begin the wait again at `now`, a time of the monotonic clock. Called after this
        process was suspended, because the host may have answered meanwhile."""
        if self.asked_at is not None:
            self.asked_at = now

    def send_keepalive(self) -> None:
        """Send a request that the server must answer; a refusal shows too that the server responds. Paramiko's
        `global_request` cannot be used: it either waits for the answer or requests none."""
        question = Message()
        question.add_byte(cMSG_GLOBAL_REQUEST)
        question.add_string("keepalive@openssh.com")
        question.add_boolean(True)
        try:
            self.transport._send_user_message(question)
        finally:
            self.is_sending = False


class KeepaliveMonitor:
    """Watches all connections of a command, in a thread that runs while at least one of them is open."""

    def __init__(self, times: KeepaliveTimes | None = None) -> None:
        self._times = times or KeepaliveTimes()
        self._background = BackgroundThreads()
        self._lock = threading.Lock()
        self._connections: list[MonitoredConnection] = []

    def watch(self, transport: Any) -> None:
        with self._lock:
            self._connections.append(MonitoredConnection(transport))
            if len(self._connections) == 1:
                threading.Thread(target=self._watch, name="keepalive", daemon=True).start()

    def _watch(self) -> None:
        looked_at = time.monotonic()
        while True:
            time.sleep(self._times.check_every_s)
            now = time.monotonic()
            was_stopped = now - looked_at > self._times.check_every_s + self._times.no_answer_s / 2
            looked_at = now
            with self._lock:
                self._connections = [
                    connection for connection in self._connections if self._is_alive(connection, now, was_stopped)
                ]
                if not self._connections:
                    return

    def _is_alive(self, connection: MonitoredConnection, now: float, was_stopped: bool) -> bool:
        if not connection.transport.is_active():
            return False
        if was_stopped:
            connection.restart_wait(now)
        verdict = connection.judge(now, self._times)
        if verdict is Verdict.ASK and not connection.is_sending:
            # Otherwise the last request still waits to be sent, behind a large upload.
            connection.is_sending = True
            self._background.submit(connection.send_keepalive)
        elif verdict is Verdict.LOST:
            self._background.submit(connection.transport.close)
        return verdict is not Verdict.LOST
