"""Does what may block apart from whoever asked for it, and each task apart from the others: one that is stuck
holds up nobody. Threads are kept for the next task for a while; there is one more only when all are busy."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

KEPT_S = 60.0


class Aside:
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


def undisturbed(work: Callable[[], object]) -> None:
    """In a thread of its own, which Ctrl-C does not reach; it is raised when the work is done."""
    over, interrupts, errors = threading.Event(), list[KeyboardInterrupt](), list[Exception]()

    def run() -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, name="release", daemon=True)
    while not over.is_set():
        try:
            if thread.ident is None:
                thread.start()
            over.wait()
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
    for error in (*errors, *interrupts):
        raise error
