"""A host that went silent on a connection that stands; transports and sockets are stand-ins."""

import threading
from collections.abc import Callable

import pytest

from hvdocker.transport.ssh import keepalive as module
from hvdocker.transport.ssh.keepalive import (
    KeepaliveMonitor,
    KeepaliveTimes,
    MonitoredConnection,
    MonitoredSocket,
    Verdict,
)

DEADLINE_S = 10.0
PATIENCE = KeepaliveTimes(keepalive_after_s=10, no_answer_s=20)
HASTY = KeepaliveTimes(keepalive_after_s=0.02, no_answer_s=0.1)
# Far longer than a test lasts: what it is right to end, and only that, ends.
NEVER_S = 1000.0


class Talk:
    """A socket on which there is always something to read."""

    _closed = False

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def recv(self, size: int) -> bytes:
        return b"x" * size

    def send(self, data: bytes) -> int:
        self.sent.append(data)
        return len(data)


class Transport:
    """Answers questions at once, while it does."""

    def __init__(self, answers: int = 0) -> None:
        self.monitored_socket = MonitoredSocket(Talk())
        self.answers = answers
        self.asked: list[bytes] = []
        self.closed = threading.Event()

    def is_active(self) -> bool:
        return not self.closed.is_set()

    def _send_user_message(self, message: object) -> None:
        self.asked.append(message.asbytes())
        if len(self.asked) <= self.answers:
            self.monitored_socket.recv(1)

    def close(self) -> None:
        self.closed.set()


def heart(heard_at: float, asked_at: float | None = None) -> MonitoredConnection:
    transport = Transport()
    transport.monitored_socket.received_at = heard_at
    return MonitoredConnection(transport, asked_at)


@pytest.mark.parametrize(
    ("heard_at", "asked_at", "now", "verdict"),
    [
        (100, None, 109, Verdict.FINE),
        (100, None, 110, Verdict.ASK),
        (100, 110, 111, Verdict.FINE),
        (100, 110, 129, Verdict.FINE),
        (100, 110, 130, Verdict.LOST),
        (111, 110, 120, Verdict.FINE),
        # Whatever was heard after the question counts; then all begins again.
        (129, 110, 135, Verdict.FINE),
        (129, 110, 139, Verdict.ASK),
        # Heard long ago, but nobody has asked yet: not lost.
        (100, None, 1000, Verdict.ASK),
    ],
)
def test_when_a_host_is_asked_and_when_it_is_given_up(
    heard_at: float, asked_at: float | None, now: float, verdict: Verdict
) -> None:
    assert heart(heard_at, asked_at).judge(now, PATIENCE) is verdict


def test_a_host_is_asked_once_until_it_is_heard() -> None:
    silent = heart(100)
    verdicts = [silent.judge(now, PATIENCE) for now in (110, 115, 120, 125, 130)]
    assert verdicts == [Verdict.ASK, *[Verdict.FINE] * 3, Verdict.LOST]


def test_a_process_that_was_stopped_gives_hosts_another_chance() -> None:
    waiting, talking = heart(100, 110), heart(100)
    for one in (waiting, talking):
        one.restart_wait(500)
    assert waiting.judge(500, PATIENCE) is waiting.judge(519, PATIENCE) is Verdict.FINE
    assert waiting.judge(520, PATIENCE) is Verdict.LOST
    assert talking.judge(500, PATIENCE) is Verdict.ASK


def test_the_question_wants_an_answer_and_nobody_waits_for_it() -> None:
    asked = heart(100)
    asked.send_keepalive()
    assert asked.transport.asked == [b"\x50" + b"\0\0\0\x15keepalive@openssh.com" + b"\x01"]


class Clock:
    def __init__(self) -> None:
        self.now = 5.0

    def monotonic(self) -> float:
        return self.now


def test_whatever_is_read_is_heard_and_what_is_sent_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    ear = MonitoredSocket(Talk())
    assert ear.received_at == 5
    clock.now = 6
    assert (ear.send(b"data"), ear.received_at) == (4, 5)
    assert (ear.recv(2), ear.received_at) == (b"xx", 6)
    assert ear._closed is False and ear.sent == [b"data"]


def test_a_read_that_brings_nothing_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Talk):
        def recv(self, size: int) -> bytes:
            raise TimeoutError

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    ear = MonitoredSocket(Silent())
    clock.now = 6
    with pytest.raises(TimeoutError):
        ear.recv(1)
    assert ear.received_at == 5


def test_a_host_that_never_answers_is_given_up() -> None:
    transport = Transport()
    KeepaliveMonitor(HASTY).watch(transport)
    assert transport.closed.wait(DEADLINE_S)
    assert len(transport.asked) == 1


def test_a_host_that_falls_silent_later_is_given_up_too() -> None:
    transport = Transport(answers=3)
    KeepaliveMonitor(HASTY).watch(transport)
    assert transport.closed.wait(DEADLINE_S)
    assert len(transport.asked) == 4


class Stuck(Transport):
    """A question does not get out: an upload holds the connection's write lock."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()

    def _send_user_message(self, message: object) -> None:
        super()._send_user_message(message)
        self.is_asked.set()
        self.closed.wait(DEADLINE_S)


def test_a_slow_upload_is_not_cut_though_the_question_never_gets_through() -> None:
    """The host takes piece after piece and says so; beside it, one after the other that says nothing is given
    up. Nor does every beat leave another question stuck."""
    pulse, uploading = KeepaliveMonitor(KeepaliveTimes(keepalive_after_s=0.02, no_answer_s=0.5)), Stuck()
    pulse.watch(uploading)
    assert uploading.is_asked.wait(DEADLINE_S)
    for _ in range(2):
        silent = Transport()
        pulse.watch(silent)
        while not silent.closed.wait(0.05):
            uploading.monitored_socket.recv(1)
    assert uploading.is_active() and len(uploading.asked) == 1
    assert uploading.closed.wait(DEADLINE_S)


def test_a_question_that_is_stuck_does_not_keep_its_host_or_others_from_being_given_up() -> None:
    pulse, transports = KeepaliveMonitor(HASTY), [Stuck() for _ in range(5)]
    for transport in transports:
        pulse.watch(transport)
    assert all(transport.closed.wait(DEADLINE_S) for transport in transports)


def test_an_end_that_is_stuck_holds_up_no_other() -> None:
    """Closing says good-bye on the jump host's connection, which may be the one that is stuck."""
    jump = Transport()

    class Behind(Transport):
        def close(self) -> None:
            jump.closed.wait(DEADLINE_S)
            super().close()

    pulse, behind = KeepaliveMonitor(HASTY), Behind()
    pulse.watch(behind)
    pulse.watch(jump)
    assert jump.closed.wait(DEADLINE_S) and behind.closed.wait(DEADLINE_S)


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "keepalive"]


@pytest.fixture
def no_watchers() -> Callable[[], None]:
    def check() -> None:
        for thread in watchers():
            thread.join(DEADLINE_S)
        assert watchers() == []

    check()
    return check


def test_one_thread_watches_all_and_ends_with_the_last(no_watchers: Callable[[], None]) -> None:
    pulse = KeepaliveMonitor(KeepaliveTimes(keepalive_after_s=0.1, no_answer_s=NEVER_S))
    transports = [Transport(answers=1 << 30) for _ in range(500)]
    for transport in transports:
        pulse.watch(transport)
    assert len(watchers()) == 1
    for transport in transports:
        transport.close()
    no_watchers()
    again = Transport()
    pulse.watch(again)
    assert len(watchers()) == 1
    again.close()
    no_watchers()
