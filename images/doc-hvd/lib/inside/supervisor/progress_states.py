"""Writes the output of the launcher to the container's log so that progress bars are seen while they are drawn.

A progress bar overwrites its line: each state ends in a carriage return. The container engine writes text to its log
only when a newline ends it, so a newline is added to each state. The engine keeps all states in its log, so at most a
few states a second are written."""

import os
import time
from collections.abc import Callable

from hvdocker.protocol.line_header import RANK_LINE

# The shortest time between two states of one progress bar.
STATE_INTERVAL_S = 0.2


class StateWriter:
    """Writes one stream (stdout or stderr) of the launcher to the file descriptor `fd`, with a newline
    after each state of a progress bar. A state that comes within STATE_INTERVAL_S after the last one of its rank and
    stream waits until `due`, or is dropped if the rank writes something newer. `lines` counts the lines and states that
    were written. `clock` returns the time in seconds."""

    def __init__(self, fd: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._fd = fd
        self._clock = clock
        self.lines = 0
        self._is_line_start = True
        self._waiting: dict[bytes, bytes] = {}
        self._next: dict[bytes, float] = {}

    def write(self, piece: bytes) -> None:
        """Write a piece of output: a whole line, a whole state of a progress bar (text that ends in a carriage
        return), or a part of one. A state may be written later or dropped (see the class)."""
        found = RANK_LINE.match(piece) if self._is_line_start else None
        self._is_line_start = piece.endswith((b"\n", b"\r"))
        if found and piece.endswith(b"\r"):
            self._write_state(found[1], piece)
            return
        waiting = self._waiting.pop(found[1], b"") if found else b""
        if found and found[5] == b"\n":
            # A newline alone overwrites nothing: it makes the state the final one.
            self._put(waiting)
        self._put(piece)

    def due(self) -> float | None:
        """Return the time (on `clock`) at which the first waiting state may be written. Return None if no state waits,
        or while a line that was begun is unfinished."""
        if not self._is_line_start:
            return None
        return min((self._next[prefix] for prefix in self._waiting), default=None)

    def tick(self) -> None:
        """Write the waiting states whose time (see `due`) has come. Write nothing while a line that was begun is
        unfinished."""
        now = self._clock()
        for prefix in [prefix for prefix in self._waiting if self._next[prefix] <= now and self._is_line_start]:
            self._write_state(prefix, self._waiting.pop(prefix))

    def close(self) -> None:
        """Write the states that still wait: they are the last of their progress bars. Call this at the end of the
        stream."""
        for piece in self._waiting.values():
            self._put(piece)
        self._waiting.clear()

    def _write_state(self, prefix: bytes, piece: bytes) -> None:
        now = self._clock()
        if now < self._next.get(prefix, now):
            self._waiting[prefix] = piece
            return
        self._waiting.pop(prefix, None)
        self._next[prefix] = now + STATE_INTERVAL_S
        self._put(piece)

    def _put(self, piece: bytes) -> None:
        """Write the whole piece at once, without Python's buffers. If it ends in a carriage return, a newline is
        added."""
        data = piece + b"\n" if piece.endswith(b"\r") else piece
        self.lines += data.count(b"\n")
        while data:
            data = data[os.write(self._fd, data) :]
