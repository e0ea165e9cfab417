"""Progress bars on their way into the container's log."""

import os
from collections.abc import Iterator

import pytest
from inside.supervisor.progress_states import STATE_INTERVAL_S, StateWriter


class Log:
    """A container's log. The time is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self._reader, self._fd = os.pipe()
        self.writer = StateWriter(self._fd, lambda: self.now)

    def write(self, *pieces: bytes) -> bytes:
        for piece in pieces:
            self.writer.write(piece)
        return self.read()

    def read(self) -> bytes:
        os.write(self._fd, b"|")
        return os.read(self._reader, 1 << 16).removesuffix(b"|")

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._reader)


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    yield log
    log.close()


def test_a_state_gets_a_newline_because_an_engine_waits_for_one(log: Log) -> None:
    assert log.write(b"[0]<stderr>:10%\r") == b"[0]<stderr>:10%\r\n"


def test_many_states_a_second_do_not_fill_the_log(log: Log) -> None:
    states = [b"[0]<stderr>:%d%%\r" % number for number in range(100)]
    assert log.write(*states, b"[1@c]<stderr>:7%\r") == b"[0]<stderr>:0%\r\n[1@c]<stderr>:7%\r\n"
    assert log.writer.due() == log.now + STATE_INTERVAL_S
    log.now += STATE_INTERVAL_S
    log.writer.tick()
    assert log.read() == b"[0]<stderr>:99%\r\n"
    assert log.writer.due() is None


def test_a_state_that_waits_is_dropped_for_a_newer_line(log: Log) -> None:
    pieces = (b"[0]<stderr>:1%\r", b"[0]<stderr>:2%\r", b"[0]<stderr>:done\n")
    assert log.write(*pieces) == b"[0]<stderr>:1%\r\n[0]<stderr>:done\n"
    assert log.writer.due() is None


def test_a_newline_alone_keeps_the_state_that_waits(log: Log) -> None:
    pieces = (b"[0]<stderr>:1%\r", b"[0]<stderr>:2%\r", b"[0]<stderr>:\n")
    assert log.write(*pieces) == b"[0]<stderr>:1%\r\n[0]<stderr>:2%\r\n[0]<stderr>:\n"


def test_the_last_state_is_written_at_the_end(log: Log) -> None:
    log.write(b"[0]<stderr>:1%\r", b"[0]<stderr>:2%\r")
    log.writer.close()
    assert log.read() == b"[0]<stderr>:2%\r\n"


def test_no_state_goes_into_an_unfinished_line(log: Log) -> None:
    log.write(b"[0]<stderr>:1%\r", b"[0]<stderr>:2%\r", b"a long line of the launcher ")
    log.now += STATE_INTERVAL_S
    log.writer.tick()
    assert (log.read(), log.writer.due()) == (b"", None)
    assert log.write(b"ends\n") == b"ends\n"
    log.writer.tick()
    assert log.read() == b"[0]<stderr>:2%\r\n"
