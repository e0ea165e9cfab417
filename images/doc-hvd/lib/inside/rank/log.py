"""A rank's log on its own host: a copy of its output, limited in size, in case the launcher does not get the
output. A failure to write the log must not disturb the rank: the first error is reported, then the log is
closed."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hvdocker.protocol.rank_log import log_header

# The size limit of the log, and of PATH.1, in bytes.
MAX_LOG_BYTES = 10 * 1000 * 1000


class RankLog:
    """Appends a rank's output to the file `path`. A log that would grow beyond `most_bytes` is first renamed to
    PATH.1, which replaces the previous PATH.1. After the first error the log is closed and `complain` is called with a
    message."""

    def __init__(self, path: Path, complain: Callable[[str], None], most_bytes: int = MAX_LOG_BYTES) -> None:
        self._path = path
        self.complain = complain
        self._most_bytes = most_bytes
        self._fd: int | None = None
        self._size = 0
        self._attempt(self._open)

    def begin(self, rank: int, host: str, start: str, now: float) -> None:
        """Write a line that separates the output of this start of the rank from the output of earlier starts. `start`
        says how often the job was restarted before, such as `0`. `now` is the time in seconds since the epoch."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
        line = log_header(rank, host, start, stamp)
        self._attempt(lambda: self._add(self._line_end() + line.encode("utf-8", "backslashreplace")))

    def write(self, data: bytes) -> None:
        """Append output of the rank to the log."""
        self._attempt(lambda: self._add(data))

    def close(self) -> None:
        """Close the file. Later writes are ignored."""
        fd, self._fd = self._fd, None
        if fd is not None:
            # Some file systems report only on close that data could not be written.
            with suppress(OSError):
                os.close(fd)

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            self.close()
            self.complain(f"cannot keep {self._path.name} on this host: {error}")

    def _open(self) -> None:
        self._fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._fd).st_size

    def _line_end(self) -> bytes:
        """Return a newline if the log ends in the middle of a line, else nothing."""
        if self._fd is None or not self._size:
            return b""
        return b"" if os.pread(self._fd, 1, self._size - 1) == b"\n" else b"\n"

    def _add(self, data: bytes) -> None:
        if self._fd is not None and self._size + len(data) > self._most_bytes:
            self._turn_over()
        while self._fd is not None and data:
            written = os.write(self._fd, data)
            self._size += written
            data = data[written:]

    def _turn_over(self) -> None:
        self.close()
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._open()
