"""Delivers signals as bytes in a pipe, so that a program can wait for signals, children and files in a single poll."""

import os
import signal
from collections.abc import Iterable


class SignalPipe:
    """Collects the given signals, which then have no other effect on this process. The file descriptor `fd` becomes
    readable when a signal arrives; `take` then returns its number."""

    def __init__(self, signals: Iterable[int]) -> None:
        self.fd, writer = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in signals:
            # Python writes the byte only if a handler is set; the handler itself does nothing.
            signal.signal(number, lambda _number, _frame: None)

    def take(self) -> list[int]:
        """Return the numbers of the signals that have arrived since the last call; empty if there are none."""
        try:
            return list(os.read(self.fd, 4096))
        except BlockingIOError:
            return []
