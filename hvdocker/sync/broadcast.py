"""Copies one stream to many hosts at the same time. The stream is read and packed only once.

The stream consists of pieces. Each host has a queue of a few pieces, which limits the memory, so the slowest host sets
the pace. If the transfer to a host ends or fails, this host leaves the broadcast, and the others no longer wait for
it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hvdocker.errors import HvdockerError
from hvdocker.sync.pack import Piece

_WINDOW = 16


class Broadcast:
    """A thread that reads the pieces of a stream and puts each piece into the queues of all hosts in `names`.

    A queue holds at most `window` pieces. `error` is the exception that reading raised, or None."""

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
        """Yield an iterator over the pieces for the host `name`, for use in a `with` block. When the block ends, even
        with an error, the host leaves the broadcast and the other hosts continue."""
        try:
            yield self._all(name)
        finally:
            self._leave(name)

    def close(self) -> None:
        """Make all hosts leave the broadcast, so that no more pieces are read, and wait for the thread to end."""
        for name in list(self._waiting):
            self._leave(name)
        self._thread.join()

    def _all(self, name: str) -> Iterator[Piece]:
        """Yield the pieces for the host `name`. If reading the stream failed, raise HvdockerError after the last piece.
        Otherwise a partial stream would look complete."""
        while piece := self._next(name):
            yield piece
        if self.error:
            raise HvdockerError("what was being sent could not be read to its end") from self.error

    def _next(self, name: str) -> Piece | None:
        """Wait for the next piece of the host `name`. Return None at the end of the stream, or if the host has left."""
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
            # The hosts' iterators (`_all`) raise an error because of it.
            self.error = error
        with self._moved:
            self._is_over = True
            self._moved.notify_all()

    def _enqueue(self, piece: Piece) -> bool:
        """Wait until every queue has room, and append the piece to the queues of all hosts. Return whether any host
        still takes part; if not, the caller stops reading."""
        with self._moved:
            self._moved.wait_for(self._has_room)
            for waiting in self._waiting.values():
                waiting.append(piece)
            self._moved.notify_all()
            return bool(self._waiting)

    def _has_room(self) -> bool:
        return all(len(waiting) < self._window for waiting in self._waiting.values())
