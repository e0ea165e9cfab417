"""Notices a host that no longer answers although its connection stands: an sshd that is frozen, for which the
kernel goes on to acknowledge, or a host behind a jump host or a ProxyCommand, where the kernel only knows the
thing in between.

Every byte that is read from a host is a sign of life, whatever it belongs to: on a slow link the answer to a
question waits behind megabytes of our own, but the host is heard meanwhile. One that was not heard for a beat
is asked something that has to be answered; one that then says nothing at all is given up, and whoever waits
on the connection is told. One thread watches all connections of a command. It neither asks nor closes itself:
both may block on a connection that is stuck."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

from paramiko.common import cMSG_GLOBAL_REQUEST
from paramiko.message import Message

from hvdocker.transport.background import BackgroundThreads

BEAT_S = 10.0
SILENCE_S = 20.0
_LOOKS_PER_BEAT = 10


@dataclass(frozen=True)
class Patience:
    """A host is asked when it was not heard for a beat, and given up when it then stays silent."""

    beat_s: float = BEAT_S
    silence_s: float = SILENCE_S

    @property
    def look_s(self) -> float:
        return self.beat_s / _LOOKS_PER_BEAT

    @property
    def longest_s(self) -> float:
        """From the last byte to the end, on a machine that is not busy."""
        return self.beat_s + self.silence_s + 2 * self.look_s


class MonitoredSocket:
    """Whatever socket an SSH connection reads from, and when something was last heard on it."""

    def __init__(self, sock: Any) -> None:
        """Any: a socket, a jump host's channel, or a ProxyCommand."""
        self._sock = sock
        self.heard_at = time.monotonic()

    def recv(self, size: int) -> bytes:
        data: bytes = self._sock.recv(size)
        self.heard_at = time.monotonic()
        return data

    def send(self, data: bytes) -> int:
        return self._sock.send(data)  # type: ignore[no-any-return]  # as above

    def __getattr__(self, name: str) -> Any:
        """Any: what else paramiko asks of a socket is that socket's own affair."""
        return getattr(self._sock, name)


class Verdict(Enum):
    FINE = "fine"
    ASK = "ask"
    LOST = "lost"


@dataclass
class MonitoredConnection:
    """One connection under watch. Any: a transport with an `ear`; its private parts are PARAMIKO_PARTS."""

    transport: Any
    asked_at: float | None = None
    is_asking: bool = False

    def judge(self, now: float, patience: Patience) -> Verdict:
        heard_at = self.transport.ear.heard_at
        if self.asked_at is not None and heard_at < self.asked_at:
            return Verdict.LOST if now - self.asked_at >= patience.silence_s else Verdict.FINE
        self.asked_at = now if now - heard_at >= patience.beat_s else None
        return Verdict.FINE if self.asked_at is None else Verdict.ASK

    def excuse(self, now: float) -> None:
        """It may have answered while this very process was stopped, and nobody read."""
        if self.asked_at is not None:
            self.asked_at = now

    def ask(self) -> None:
        """`global_request` either waits for the answer or asks for none. A refusal is a sign of life too."""
        question = Message()
        question.add_byte(cMSG_GLOBAL_REQUEST)
        question.add_string("keepalive@openssh.com")
        question.add_boolean(True)
        try:
            self.transport._send_user_message(question)
        finally:
            self.is_asking = False


class KeepaliveMonitor:
    """All connections of a command. The thread is there as long as one of them is open."""

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._aside = BackgroundThreads()
        self._lock = threading.Lock()
        self._hearts: list[MonitoredConnection] = []

    def watch(self, transport: Any) -> None:
        with self._lock:
            self._hearts.append(MonitoredConnection(transport))
            if len(self._hearts) == 1:
                threading.Thread(target=self._watch, name="pulse", daemon=True).start()

    def _watch(self) -> None:
        looked_at = time.monotonic()
        while True:
            time.sleep(self._patience.look_s)
            now = time.monotonic()
            was_stopped = now - looked_at > self._patience.look_s + self._patience.silence_s / 2
            looked_at = now
            with self._lock:
                self._hearts = [heart for heart in self._hearts if self._beats(heart, now, was_stopped)]
                if not self._hearts:
                    return

    def _beats(self, heart: MonitoredConnection, now: float, was_stopped: bool) -> bool:
        if not heart.transport.is_active():
            return False
        if was_stopped:
            heart.excuse(now)
        verdict = heart.judge(now, self._patience)
        if verdict is Verdict.ASK and not heart.is_asking:
            # Else the last question is still on its way out, behind something large.
            heart.is_asking = True
            self._aside.do(heart.ask)
        elif verdict is Verdict.LOST:
            self._aside.do(heart.transport.close)
        return verdict is not Verdict.LOST
