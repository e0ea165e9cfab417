"""Does what may block apart from whoever asked for it, and each task apart from the others: one that is stuck
holds up nobody. Threads are kept for the next task for a while; there is one more only when all are busy."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

KEPT_S = 60.0
_POLL_S = 0.2


class BackgroundThreads:
    """The semaphore counts threads that wait and are promised to no task yet."""

    def __init__(self, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._tasks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._free = threading.Semaphore(0)

    def do(self, task: Callable[[], object]) -> None:
        """Comes back at once. What the task raises concerns nobody."""
        self._tasks.put(task)
        if not self._free.acquire(blocking=False):
            threading.Thread(target=self._work, name="aside", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=self._kept_s)
            except queue.Empty:
                if self._free.acquire(blocking=False):
                    return
                continue  # a task was promised to this thread just now
            with contextlib.suppress(Exception):
                task()
            self._free.release()


class Uninterrupted:
    """Work in a thread of its own, which Ctrl-C does not reach."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._over = threading.Event()
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="apart", daemon=True)

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            self._errors.append(error)
        finally:
            self._over.set()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self) -> None:
        """Until it is over. Ctrl-C comes through here, and one may wait again."""
        while not self.is_over:
            if self._thread.ident is None:
                self._thread.start()
            # Not for ever: a signal that another thread happened to take is noticed only between waits.
            self._over.wait(_POLL_S)

    def settle(self) -> None:
        """Raises what the work raised."""
        for error in self._errors:
            raise error


def uninterrupted(work: Callable[[], object]) -> None:
    """Whatever Ctrl-C says; it is raised when the work is done."""
    apart, interrupts = Uninterrupted(work), list[KeyboardInterrupt]()
    while not apart.is_over:
        try:
            apart.wait()
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
    apart.settle()
    for pressed in interrupts:
        raise pressed
