"""Passes a command's stream on, masked, and keeps a copy. It never waits: who polls is told what each relay
waits for, so that signals and deadlines are heard also while nobody reads."""

import os
import select
from collections.abc import Callable

from inside.rank.masking import Masker

# A pipe that polls as writable takes this much without blocking.
ONE_WRITE = select.PIPE_BUF


class Relay:
    """From the command's pipe to a stream of our own; `keep` is given the same, masked, as it arrives."""

    def __init__(
        self, source: int, target: int, masker: Masker, keep: Callable[[bytes], object] = len
    ) -> None:
        self._source = source
        self._target = target
        self._masker = masker
        self._keep = keep
        self._pending = b""
        self._has_ended = False
        self._is_heard = True
        self.is_between_lines = True
        self.read_bytes = 0

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
        self.read_bytes += len(data)
        if data:
            self._take(self._masker.feed(data))
        else:
            self.cut()

    def cut(self) -> None:
        """Nothing more is read, whoever holds the other end."""
        if not self._has_ended:
            self._has_ended = True
            self._take(self._masker.close())

    def insert(self, line: bytes) -> None:
        """Send a line of our own, which the command did not write; it cuts a line that is not ended."""
        if self._is_heard:
            self._pending += line if self.is_between_lines else b"\n" + line
            self.is_between_lines = True

    def mute(self) -> None:
        """Nobody is there any more. The command must not block on that: the stream is still read and kept."""
        self._is_heard, self._pending = False, b""

    def _take(self, data: bytes) -> None:
        if not data:
            return
        self._keep(data)
        self.is_between_lines = data.endswith((b"\n", b"\r"))
        if self._is_heard:
            self._pending += data

    def _write(self) -> None:
        try:
            written = os.write(self._target, self._pending[:ONE_WRITE])
        except OSError:
            self.mute()
            return
        self._pending = self._pending[written:]
