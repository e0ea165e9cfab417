import concurrent.futures
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from hvdocker.errors import HostErrors, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.transport.pool import HostOutcomes, for_each_host, for_each_host_within


def test_every_hosts_outcome_in_the_order_asked() -> None:
    def work(name: str) -> str:
        if name == "b":
            raise HostUnfit("no engine")
        return name.upper()

    outcomes = for_each_host(["c", "b", "a"], work)
    assert outcomes.done == {"c": "C", "a": "A"}
    assert [str(error) for error in outcomes.failed.values()] == ["b: no engine"]


def test_nothing_to_do() -> None:
    assert for_each_host([], lambda name: name) == HostOutcomes({}, {})


def test_a_bug_is_not_hidden_among_host_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        for_each_host(["a"], lambda name: 1 // 0)


def test_one_failure_is_itself_and_several_are_a_group() -> None:
    one = HostOutcomes({}, {"a": HostUnfit("x", host="a")})
    with pytest.raises(HostUnfit):
        one.or_raise("together")
    two = HostOutcomes({}, {"a": HostUnfit("x", host="a"), "b": HostUnreachable("y", host="b")})
    with pytest.raises(HostErrors, match="together") as caught:
        two.or_raise("together")
    assert caught.value.exit_code == 4
    assert HostOutcomes({"a": 1}, {}).or_raise("x") == {"a": 1}


def test_an_error_that_names_its_host_keeps_it() -> None:
    def work(name: str) -> None:
        raise HvdockerError("x", host="jump")

    assert str(for_each_host(["a"], work).failed["a"]) == "jump: x"


def test_a_host_that_does_not_answer_in_time_is_not_waited_for() -> None:
    answers = threading.Event()
    try:
        assert for_each_host_within(["a"], lambda name: answers.wait(), 0.0) == HostOutcomes({}, {})
    finally:
        answers.set()


def test_a_host_that_answers_in_time_is_heard() -> None:
    def work(name: str) -> str:
        if name == "b":
            raise HostUnreachable("refused")
        return name.upper()

    outcomes = for_each_host_within(["a", "b"], work, 600.0)
    assert outcomes.done == {"a": "A"}
    assert [str(error) for error in outcomes.failed.values()] == ["b: refused"]
    assert for_each_host_within([], work, 600.0) == HostOutcomes({}, {})


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A test run in the background ignores SIGINT; these tests need Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c(told: threading.Event) -> str:
    """As a person does: not before the main thread waits for the hosts, and again if nothing happens (a
    signal just before Python's own wait is seen only after it)."""
    while not _main_thread_waits():
        pass
    for _ in range(10):
        os.kill(os.getpid(), signal.SIGINT)
        if told.wait(1):
            return "told"
    return "never told"


def _main_thread_waits() -> bool:
    frame: FrameType | None = sys._current_frames()[threading.main_thread().ident or 0]
    while frame and frame.f_code is not concurrent.futures.wait.__code__:
        frame = frame.f_back
    return frame is not None


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_tells_the_work_and_waits_for_what_is_under_way() -> None:
    told = threading.Event()
    log: list[str] = []

    def work(name: str) -> None:
        log.append(press_ctrl_c(told))
        log.append("ended")

    def on_interrupt() -> None:
        log.append("interrupted")
        told.set()

    with pytest.raises(KeyboardInterrupt):
        for_each_host(["a"], work, on_interrupt=on_interrupt)
    assert log == ["interrupted", "told", "ended"]


@pytest.mark.usefixtures("ctrl_c")
def test_an_impatient_second_ctrl_c_does_not_leave_work_behind() -> None:
    told = threading.Event()
    log: list[str] = []

    def work(name: str) -> None:
        press_ctrl_c(told)
        os.kill(os.getpid(), signal.SIGINT)
        left.wait(0.3)  # until somebody has left it behind, which nobody should
        log.append("ended")

    left = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        for_each_host(["a"], work, on_interrupt=told.set)
    was = list(log)
    left.set()
    assert was == ["ended"]
