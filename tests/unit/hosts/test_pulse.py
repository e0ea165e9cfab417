"""A host that went silent behind a jump host; the transport is a stand-in."""

import threading

from hvdocker.hosts.pulse import watch_pulse

DEADLINE_S = 10.0


class Transport:
    """Answers that many times, and never again."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.asked: list[tuple[str, bool]] = []
        self.closed = threading.Event()

    def is_active(self) -> bool:
        return not self.closed.is_set()

    def global_request(self, kind: str, wait: bool) -> None:
        self.asked.append((kind, wait))
        if len(self.asked) > self.answers:
            self.closed.wait(DEADLINE_S)

    def close(self) -> None:
        self.closed.set()


def test_a_host_that_never_answers_is_given_up() -> None:
    transport = Transport(answers=0)
    watch_pulse(transport, beat_s=0.001, silence_s=0.01)
    assert transport.closed.wait(DEADLINE_S)
    assert transport.asked == [("keepalive@openssh.com", True)]


def test_a_host_that_falls_silent_later_is_given_up_too() -> None:
    transport = Transport(answers=3)
    watch_pulse(transport, beat_s=0.001, silence_s=0.05)
    assert transport.closed.wait(DEADLINE_S)
    assert len(transport.asked) >= 1
