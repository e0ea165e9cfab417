"""Work that one Ctrl-C does not end."""

from __future__ import annotations

import threading
from collections.abc import Callable

_POLL_S = 0.2


class LeftUndone(Exception):
    """Ctrl-C came a second time."""


def insist(work: Callable[[], None], on_interrupt: Callable[[], None]) -> None:
    """In a thread of its own, which Ctrl-C does not reach: the first is only answered, the second leaves the
    work behind. What the work raises is raised here."""
    over, errors = threading.Event(), list[Exception]()

    def run() -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, name="insist", daemon=True)
    try:
        _wait(thread, over)
    except KeyboardInterrupt:
        try:
            on_interrupt()
            _wait(thread, over)
        except KeyboardInterrupt:
            raise LeftUndone from None
    for error in errors:
        raise error


def _wait(thread: threading.Thread, over: threading.Event) -> None:
    while not over.is_set():
        if thread.ident is None:
            thread.start()
        # Not for ever: a signal that another thread happened to take is noticed only between waits.
        over.wait(_POLL_S)
