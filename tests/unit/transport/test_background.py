"""Tasks that may block, each apart from the others."""

import threading
from collections.abc import Iterator

import pytest

from hvdocker.transport.background import BackgroundThreads

DEADLINE_S = 10.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opened at the end, so that no thread outlives the test."""
    gate = threading.Event()
    yield gate
    gate.set()


def who(aside: BackgroundThreads) -> threading.Thread:
    """The thread that does a task."""
    found: list[threading.Thread] = []
    is_done = threading.Event()

    def task() -> None:
        found.append(threading.current_thread())
        is_done.set()

    aside.submit(task)
    assert is_done.wait(DEADLINE_S)
    return found[0]


def await_free(aside: BackgroundThreads) -> None:
    """Until a thread waits for work."""
    assert aside._free.acquire(timeout=DEADLINE_S)
    aside._free.release()


def test_a_task_that_is_stuck_holds_up_nobody(gate: threading.Event) -> None:
    aside = BackgroundThreads()
    stuck = threading.Semaphore(0)
    for _ in range(3):
        aside.submit(lambda: (stuck.release(), gate.wait(DEADLINE_S)))
    assert all(stuck.acquire(timeout=DEADLINE_S) for _ in range(3))
    who(aside)


def test_the_next_task_gets_the_thread_of_the_last_one() -> None:
    aside = BackgroundThreads()
    first = who(aside)
    for _ in range(5):
        await_free(aside)
        assert who(aside) is first


def test_a_task_that_fails_does_not_end_its_thread() -> None:
    aside = BackgroundThreads()
    first = who(aside)
    await_free(aside)
    aside.submit(lambda: 1 / 0)
    await_free(aside)
    assert who(aside) is first


def test_a_thread_that_nobody_needs_ends_and_another_takes_its_place() -> None:
    aside = BackgroundThreads(kept_s=0.01)
    first = who(aside)
    first.join(DEADLINE_S)
    assert not first.is_alive()
    assert who(aside) is not first
