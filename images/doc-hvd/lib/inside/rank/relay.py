"""Forwards one output stream of the rank's command to the launcher, with secrets masked, and keeps a copy. A relay
never blocks: the caller polls for the event that the relay waits for. So signals and deadlines are handled even while
the launcher does not read."""

import os
import select
from collections.abc import Callable

from inside.rank.masking import Masker

# A pipe that polls as writable accepts this much without blocking.
MAX_WRITE = select.PIPE_BUF
# A longer state of a progress bar is passed on as it comes.
MAX_STATE_BYTES = 1024


class Relay:
    """Copies from the command's pipe (`source`) to our own stdout or stderr (`target`), both given as file
    descriptors. `masker` replaces secrets. `keep` is called with the same masked data, to write it to the rank's log.
    `is_between_lines`: the last byte that was taken ended a line. `read_bytes` counts the bytes read from the command.

    A launcher may forward text only when a newline or a carriage return ends it. Many progress bars write
    the carriage return first (CR 50%). Then each state would be seen only when the next one comes. So the relay moves
    the carriage return behind the state (50% CR)."""

    def __init__(self, source: int, target: int, masker: Masker, keep: Callable[[bytes], object] = len) -> None:
        self._source = source
        self._target = target
        self._masker = masker
        self._keep = keep
        self._pending = b""
        self._has_ended = False
        self._is_muted = False
        # Whether the current line has a carriage return.
        self._is_overwritten = False
        # The last state of the line, if the relay added a carriage return to it.
        self._state = b""
        self.is_between_lines = True
        self.read_bytes = 0

    @property
    def is_done(self) -> bool:
        """Whether the stream has ended and all of its data is written."""
        return self._has_ended and not self._pending

    @property
    def is_writing(self) -> bool:
        """Whether the relay has data that still has to be written to the launcher."""
        return bool(self._pending)

    def interest(self) -> tuple[int, int]:
        """Return the file descriptor and the event to poll for: writing if data is pending, else reading."""
        return (self._target, select.POLLOUT) if self._pending else (self._source, select.POLLIN)

    def read_or_write(self) -> None:
        """Read from the command once, or write to the launcher once if data is pending. This does not block if the
        event of `interest` has occurred before the call."""
        if self._pending:
            self._write()
            return
        data = os.read(self._source, 1 << 16)
        self.read_bytes += len(data)
        if data:
            self._take(self._masker.feed(data))
        else:
            self.stop_reading()

    def stop_reading(self) -> None:
        """Treat the stream as ended: read no more, even if another process holds the pipe open. Data that was held
        back as a possible secret is still forwarded."""
        if not self._has_ended:
            self._has_ended = True
            self._take(self._masker.close())

    def insert(self, line: bytes) -> None:
        """Queue a line of the rank wrapper itself, such as a mark (a message to the supervisor). `line` ends with a
        newline. It is neither masked nor written to the rank's log. If the command's last line is unfinished, end that
        line first. Do nothing if `mute` was called."""
        if not self._is_muted:
            self._pending += line if self.is_between_lines else b"\n" + line
            self.is_between_lines = True

    def mute(self) -> None:
        """Stop writing to the launcher, because it is gone. The output of the command is still read and written to the
        rank's log, so that the command does not block."""
        self._is_muted, self._pending = True, b""

    def _take(self, data: bytes) -> None:
        if not data:
            return
        self._keep(data)
        data = self._with_ended_state(data)
        if data:
            self.is_between_lines = data.endswith((b"\n", b"\r"))
        if not self._is_muted:
            self._pending += data

    def _with_ended_state(self, data: bytes) -> bytes:
        """Return `data` with a carriage return added, if it ends in an unfinished state of a progress bar (the text
        after the line's last carriage return). If the last state was sent in this way and the command now continues
        it, the whole state is sent again. If the command now sends its own carriage return, that one is left out.
        Other data is returned unchanged."""
        if self._state:
            data = data[1:] if data.startswith(b"\r") else self._state + data
        _, newline, line = data.rpartition(b"\n")
        self._is_overwritten = b"\r" in line or (self._is_overwritten and not newline)
        state = line.rpartition(b"\r")[2] if self._is_overwritten else b""
        if len(state) > MAX_STATE_BYTES:
            # Too long for a progress bar: the rest of this line is passed on as it comes.
            state, self._is_overwritten = b"", False
        self._state = state
        return data + b"\r" if self._state else data

    def _write(self) -> None:
        try:
            written = os.write(self._target, self._pending[:MAX_WRITE])
        except OSError:
            self.mute()
            return
        self._pending = self._pending[written:]
