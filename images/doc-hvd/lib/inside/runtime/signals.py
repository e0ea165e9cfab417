"""Signals as bytes in a pipe, so that one poll waits for signals, children and files alike."""

import os
import signal
from collections.abc import Iterable


class SignalPipe:
    """Collects the signals it is asked to; `fd` becomes readable when one has come."""

    def __init__(self, signals: Iterable[int]) -> None:
        self.fd, writer = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in signals:
            # A handler must be there for the byte to be written; it has nothing to do itself.
            signal.signal(number, lambda _number, _frame: None)

    def take(self) -> list[int]:
        """The signals that have come since the last call."""
        try:
            return list(os.read(self.fd, 4096))
        except BlockingIOError:
            return []
