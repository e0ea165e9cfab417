"""Threads for work that may block, and for work that Ctrl-C must not interrupt.

Each background task runs in its own thread, so a stuck task delays neither the caller nor other tasks. An idle thread
waits up to IDLE_THREAD_S for another task; a new thread starts only when all are busy."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

IDLE_THREAD_S = 60.0
_POLL_S = 0.2


class BackgroundThreads:
    """Daemon threads that run tasks and are reused for later tasks. A thread ends when it was idle for `kept_s`
    seconds.

    `_free` counts the idle threads that no submitted task has claimed. A task claims one idle thread; if there is
    none, a new thread starts."""

    def __init__(self, kept_s: float = IDLE_THREAD_S) -> None:
        self._kept_s = kept_s
        self._tasks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._free = threading.Semaphore(0)

    def submit(self, task: Callable[[], object]) -> None:
        """Run the task in a background thread and return at once. Exceptions of the task are dropped."""
        self._tasks.put(task)
        if not self._free.acquire(blocking=False):
            threading.Thread(target=self._work, name="background", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=self._kept_s)
            except queue.Empty:
                if self._free.acquire(blocking=False):
                    return
                continue  # a task has just claimed this thread
            with contextlib.suppress(Exception):
                task()
            self._free.release()


class UninterruptedTask:
    """Runs the function `work` in its own thread, so that Ctrl-C cannot interrupt it: Python raises KeyboardInterrupt
    only in the main thread.

    The caller repeats `wait` until `is_over` is True, and then calls `raise_error`. The function `run_uninterrupted`
    does both."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._over = threading.Event()
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run, name="uninterrupted", daemon=True)

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
        """Wait until the work is over; the first call starts the work. An exception of the work is not raised here,
        but by `raise_error`. Ctrl-C raises KeyboardInterrupt here without stopping the work; the caller may then wait
        again."""
        while not self.is_over:
            if self._thread.ident is None:
                self._thread.start()
            # A bounded wait: Python handles a signal that another thread received only between waits.
            self._over.wait(_POLL_S)

    def raise_error(self) -> None:
        """Raise the exception that the work raised. Return if it raised none or is not over yet."""
        for error in self._errors:
            raise error


def run_uninterrupted(work: Callable[[], object]) -> None:
    """Run the work to its end despite Ctrl-C. Afterwards raise the error of the work, if there is one, else
    KeyboardInterrupt if Ctrl-C was pressed."""
    task, interrupts = UninterruptedTask(work), list[KeyboardInterrupt]()
    while not task.is_over:
        try:
            task.wait()
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
    task.raise_error()
    for pressed in interrupts:
        raise pressed
