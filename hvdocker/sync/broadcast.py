"""Copies one stream, read and packed once, to many hosts at once. A window of pieces bounds the memory, so
the slowest host sets the pace; a host that leaves is no longer waited for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hvdocker.errors import HvdockerError
from hvdocker.sync.pack import Piece

_WINDOW = 16


class Broadcast:
    """A thread that reads the pieces, with a queue of at most `window` pieces per host.

    `error` is what reading raised; None while it has not failed."""

    def __init__(self, pieces: Iterable[Piece], names: Iterable[str], window: int = _WINDOW) -> None:
        self._pieces = pieces
        self._waiting: dict[str, deque[Piece]] = {name: deque() for name in names}
        self._window = window
        self._moved = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._produce, daemon=True)
        self.error: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    @contextmanager
    def reading(self, name: str) -> Iterator[Iterator[Piece]]:
        """Yield the pieces for one host. When the block ends for any reason, the others continue."""
        try:
            yield self._all(name)
        finally:
            self._leave(name)

    def close(self) -> None:
        """Drop all readers and wait for the thread to end."""
        for name in list(self._waiting):
            self._leave(name)
        self._thread.join()

    def _all(self, name: str) -> Iterator[Piece]:
        """Yield the pieces; raise where reading failed, so that a partial stream never looks complete."""
        while piece := self._next(name):
            yield piece
        if self.error:
            raise HvdockerError("what was being sent could not be read to its end") from self.error

    def _next(self, name: str) -> Piece | None:
        """Wait for the next piece; None at the end of the stream, or for a host that has left."""
        with self._moved:
            self._moved.wait_for(lambda: self._waiting.get(name, True) or self._is_over)
            waiting = self._waiting.get(name)
            if not waiting:
                return None
            piece = waiting.popleft()
            self._moved.notify_all()
            return piece

    def _leave(self, name: str) -> None:
        with self._moved:
            self._waiting.pop(name, None)
            self._moved.notify_all()

    def _produce(self) -> None:
        try:
            for piece in self._pieces:
                if not self._enqueue(piece):
                    break
        except BaseException as error:
            # The readers raise it.
            self.error = error
        with self._moved:
            self._is_over = True
            self._moved.notify_all()

    def _enqueue(self, piece: Piece) -> bool:
        """Append the piece to all queues once they have room; return False where no host is left."""
        with self._moved:
            self._moved.wait_for(self._has_room)
            for waiting in self._waiting.values():
                waiting.append(piece)
            self._moved.notify_all()
            return bool(self._waiting)

    def _has_room(self) -> bool:
        return all(len(waiting) < self._window for waiting in self._waiting.values())
