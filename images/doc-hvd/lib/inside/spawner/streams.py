"""Reads and writes pipes without ever blocking, so that a slow reader delays neither signals nor the end of
processes."""

import os
import select
from collections.abc import Callable

from inside.runtime.loop import Loop

READ_BYTES = 1 << 16
# While more than this waits to be written, nothing more is read for the same reader.
MAX_PENDING_BYTES = 1 << 20


class Outlet:
    """Writes to the file descriptor `fd` as fast as its reader reads, and keeps what is not written yet. If the reader
    is gone, `is_lost` is True, later data is discarded, and `on_lost` is called once."""

    def __init__(self, loop: Loop, fd: int, on_lost: Callable[[], object] = lambda: None) -> None:
        self.is_lost = False
        self._loop = loop
        self._fd = fd
        self._on_lost = on_lost
        self._pending = bytearray()
        self._paused: list[Inlet] = []
        os.set_blocking(fd, False)
        loop.watch(fd, self._write, 0)

    @property
    def is_full(self) -> bool:
        return len(self._pending) > MAX_PENDING_BYTES

    @property
    def is_empty(self) -> bool:
        return not self._pending

    def put(self, data: bytes) -> None:
        """Write `data`, after all data that is still waiting to be written."""
        if self.is_lost or not data:
            return
        was_empty = not self._pending
        self._pending += data
        if was_empty:
            self._write()

    def pause(self, inlet: "Inlet") -> None:
        """Remember that `inlet` has stopped reading because this outlet is full. The inlet is resumed when there is
        room."""
        self._paused.append(inlet)

    def close(self) -> None:
        """Stop watching the file descriptor. The caller closes it."""
        self._loop.unwatch(self._fd)

    def _write(self) -> None:
        """Write as much as the reader takes now. If no data waits, this call means that the reader is gone, because the
        loop then reports only errors and hang-ups."""
        try:
            written = os.write(self._fd, self._pending) if self._pending else -1
        except BlockingIOError:
            written = 0
        except OSError:
            written = -1
        if written < 0:
            self._lose()
            return
        del self._pending[:written]
        self._loop.watch(self._fd, self._write, select.POLLOUT if self._pending else 0)
        if not self.is_full:
            self._resume()

    def _lose(self) -> None:
        self.is_lost = True
        self._pending.clear()
        self._loop.unwatch(self._fd)
        self._resume()
        self._on_lost()

    def _resume(self) -> None:
        paused, self._paused = self._paused, []
        for inlet in paused:
            inlet.resume()


class Inlet:
    """Reads the file descriptor `fd` and passes the data to `take`, which writes it to `outlet` in some form. While the
    outlet is full, nothing is read. `on_end` is called once, at the end of the stream or by `close`. `is_open` is True
    until then. `is_paused` says that the inlet waits for room in the outlet. The caller closes the file descriptor."""

    def __init__(
        self,
        loop: Loop,
        fd: int,
        take: Callable[[bytes], object],
        outlet: Outlet,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self.is_open = True
        self.is_paused = False
        self._loop = loop
        self._fd = fd
        self._take = take
        self._outlet = outlet
        self._on_end = on_end
        os.set_blocking(fd, False)
        loop.watch(fd, self._read)

    def resume(self) -> None:
        """Continue to read after a pause, because the outlet has room again."""
        self.is_paused = False
        if self.is_open:
            self._loop.watch(self._fd, self._read)

    def close(self) -> None:
        """Stop reading and call `on_end`. Do nothing if the inlet is already closed."""
        if self.is_open:
            self.is_open = False
            self._loop.unwatch(self._fd)
            self._on_end()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._take(data)
        if self.is_open and self._outlet.is_full:
            self.is_paused = True
            self._loop.unwatch(self._fd)
            self._outlet.pause(self)
