"""Passes a command's stream on, masked. It never waits: who polls is told what each relay waits for, so that
signals and deadlines are heard also while nobody reads."""

import os
import select

from inside.masking import Masker

# A pipe that polls as writable takes this much without blocking.
ONE_WRITE = select.PIPE_BUF


class Relay:
    """From the command's pipe to a stream of our own."""

    def __init__(self, source: int, target: int, masker: Masker) -> None:
        self._source = source
        self._target = target
        self._masker = masker
        self._pending = b""
        self._has_ended = False
        self._is_heard = True

    @property
    def is_done(self) -> bool:
        """Whether the stream has ended and all of it is written."""
        return self._has_ended and not self._pending

    @property
    def is_writing(self) -> bool:
        """Whether the next thing to do is to write."""
        return bool(self._pending)

    def interest(self) -> tuple[int, int]:
        """The file and the event to poll for."""
        return (self._target, select.POLLOUT) if self._pending else (self._source, select.POLLIN)

    def turn(self) -> None:
        """What it was interested in has come."""
        if self._pending:
            self._write()
            return
        data = os.read(self._source, 1 << 16)
        if data:
            self._take(self._masker.feed(data))
        else:
            self.cut()

    def cut(self) -> None:
        """Nothing more is read, whoever holds the other end."""
        if not self._has_ended:
            self._has_ended = True
            self._take(self._masker.close())

    def _take(self, data: bytes) -> None:
        if self._is_heard:
            self._pending += data

    def _write(self) -> None:
        try:
            written = os.write(self._target, self._pending[:ONE_WRITE])
        except OSError:
            # Nobody is there any more. The command must not block on that, and is ended for it elsewhere.
            self._is_heard, self._pending = False, b""
            return
        self._pending = self._pending[written:]
