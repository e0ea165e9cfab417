"""Runs one command on a channel: sends its standard input, and reads its two output streams between the marks of its
frame.

Reading stops at the last mark of a stream, not at its end. A start-up file of the login shell may leave a process in
the background that keeps the streams open."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Protocol

from hvdocker.transport.ssh.framing import Frame, FrameError, framed_output

_CHUNK = 1 << 18


class CommandChannel(Protocol):
    """The channel on which a command runs: a session channel of the open connection, or an `ssh` process.

    `packet_bytes` is the size of the pieces in which standard input is best sent. `is_lost` says that the connection
    was lost while the command ran."""

    packet_bytes: int
    is_lost: bool

    def recv(self, size: int, /) -> bytes: ...

    def recv_stderr(self, size: int, /) -> bytes: ...

    def send(self, data: bytes, /) -> int: ...

    def shutdown_write(self) -> None: ...

    def recv_exit_status(self) -> int: ...

    def close(self) -> None: ...


class RemoteCommand:
    """A command that was started on `channel`, with a line that prints the marks of `frame` before and after its
    output. The caller reads `output` to its end and then calls `finish`.

    `missing` is a FrameError if the output has ended and a mark was missing in it. Otherwise it is None."""

    def __init__(self, channel: CommandChannel, frame: Frame, stdin: Iterable[bytes] | None) -> None:
        """Start to send `stdin`, the command's standard input, and to read its standard error. None means empty
        input."""
        self._channel = channel
        self._frame = frame
        self._feeder: _StdinFeeder | None = None
        if stdin is None:
            channel.shutdown_write()
        else:
            self._feeder = _StdinFeeder(channel, stdin)
        self._errors: list[bytes] = []
        self._stderr_reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr_reader.start()
        self.missing: FrameError | None = None

    def output(self) -> Iterator[bytes]:
        """Yield the command's standard output as it arrives. Raise TimeoutError if nothing arrives for as long as the
        channel's timeout."""
        try:
            yield from framed_output(self._frame, _chunks(self._channel))
        except FrameError as error:
            self.missing = error

    def finish(self) -> int:
        """Wait for the end of the command, close the channel and return the exit code, or -1 if none arrived. If
        reading `stdin` on the controller failed, raise that exception."""
        self._stderr_reader.join()
        if self.missing and self._feeder:  # its exception closed the channel, so there is no exit code
            self._feeder.finish()
        code = self._channel.recv_exit_status()
        # A background process on the host may keep the channel open. Closing it ends a send that still waits.
        self._channel.close()
        if self._feeder:
            self._feeder.finish()
        return code

    def close(self) -> None:
        """Close the channel, which ends a command that still runs."""
        self._channel.close()

    @property
    def is_lost(self) -> bool:
        """Whether the connection was lost while the command ran."""
        return self._channel.is_lost

    @property
    def errors(self) -> bytes:
        """What the command printed on standard error, or all that arrived there if the shell did not run it."""
        return self._frame.errors(b"".join(self._errors))

    def _read_stderr(self) -> None:
        end = b""  # the last bytes that arrived: the mark may come in two chunks
        while self._frame.end not in end:
            try:
                chunk = self._channel.recv_stderr(_CHUNK)
            except TimeoutError:  # a command may print nothing here for a long time
                continue
            except OSError:
                return
            if not chunk:
                return
            self._errors.append(chunk)
            end = end[-len(self._frame.end) :] + chunk


class _StdinFeeder:
    """Writes the standard input of a command in its own thread. Without this thread there could be a deadlock: a
    command prints while it still reads, and the caller does not read its output yet."""

    def __init__(self, channel: CommandChannel, stdin: Iterable[bytes]) -> None:
        self._channel = channel
        self._stdin = stdin
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        self._thread.join()
        if self._error:
            raise self._error

    def _feed(self) -> None:
        size = self._channel.packet_bytes
        try:
            for chunk in self._stdin:
                for start in range(0, len(chunk), size):
                    if not self._send(chunk[start : start + size]):
                        return
            self._channel.shutdown_write()
        except BaseException as error:
            # Reading the input failed on the controller: the command must not wait for the rest.
            self._error = error
            with contextlib.suppress(Exception):  # the connection may be lost
                self._channel.close()

    def _send(self, packet: bytes) -> bool:
        """Send a packet and return True. Return False if the command ended before it read the whole packet. The exit
        code of the command then says whether that is an error."""
        while packet:
            try:
                packet = packet[self._channel.send(packet) :]
            except TimeoutError:  # the command is busy, and reads the rest later
                continue
            except OSError:
                return False
        return True


def _chunks(channel: CommandChannel) -> Iterator[bytes]:
    while chunk := channel.recv(_CHUNK):
        yield chunk
