"""A process `ssh` as the channel of one command, in place of a session channel of the open connection."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from hvdocker.transport.ssh.framing import Frame
from hvdocker.transport.ssh.openssh.login import OpensshLogin, OpensshRefused
from hvdocker.transport.ssh.openssh.process import SshProcess

_PACKET = 1 << 20
_ERRORS = 1 << 18
_LOOK_S = 0.1
_START_LIMIT_S = 60.0


class PipeSocket(socket.socket):
    """A socket that says whether it is closed, as a channel does, for the Docker SDK."""

    @property
    def closed(self) -> bool:
        return self.fileno() < 0


class OpensshChannel:
    """The methods of a channel that `RemoteCommand` uses, on a process `ssh` with the command line `argv`, which runs a
    line of `frame` with the exit code in it (`Frame.coded_line`). `login` is the login that it uses; it ends
    with the channel.

    The process reads `file` if it is given. Otherwise `send` writes to it. Its standard output, and its input if there
    is no `file`, is a socket: a pipe takes more processor time."""

    is_lost = False
    packet_bytes = _PACKET

    def __init__(self, login: OpensshLogin, argv: Sequence[str], frame: Frame, file: IO[bytes] | None = None) -> None:
        self._login = login
        self._frame = frame
        self._file = os.fdopen(os.dup(file.fileno()), "rb", 0) if file else None
        self._ahead = b""
        self._errors = b""
        self._is_closed = False
        ours, its = socket.socketpair()
        self.socket = PipeSocket(fileno=ours.detach())
        try:
            with its:
                self._process = SshProcess(argv, stdin=file or its, stdout=its)
        except BaseException:
            self._release()
            raise
        try:
            self._wait_for_start()
        except BaseException:
            self.close()
            raise

    def _wait_for_start(self) -> None:
        """Read up to the first mark of the frame. Raise OpensshRefused if the host opens no session for the command,
        for example because it allows one session per connection: then nothing was run and nothing was sent. Raise
        ConnectionResetError if the connection was lost, TimeoutError if the mark does not come in time."""
        self.socket.settimeout(_START_LIMIT_S)
        printed = b""
        while self._frame.start not in printed:
            data = self.recv(_PACKET)
            if not data:
                raise OpensshRefused("the host ran no command on this login")
            printed += data
        self.socket.settimeout(None)
        self._ahead = printed

    def recv(self, size: int) -> bytes:
        """Return the next output of the command, none at its end. Raise ConnectionResetError if the connection was
        lost."""
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        try:
            data = self.socket.recv(size)
        except TimeoutError:
            raise
        except OSError:  # ssh left some of its input unread, or another thread closed the channel
            data = b""
        if not data and not self._is_closed and (reason := self._login.why_lost()):
            self.is_lost = True
            raise ConnectionResetError(reason)
        return data

    def recv_stderr(self, size: int) -> bytes:
        data = self._process.read_errors(size)
        self._errors = (self._errors + data)[-_ERRORS:]
        return data

    def send(self, data: bytes) -> int:
        return self.socket.send(data)

    def shutdown_write(self) -> None:
        with contextlib.suppress(OSError):  # the command ended before it read everything
            self.socket.shutdown(socket.SHUT_WR)

    def watch_file(self, on_sent: Callable[[int], None]) -> Iterator[bytes]:
        """Call `on_sent` with the number of bytes of the file that ssh has read, until all are read or ssh has ended.
        The iterator yields empty bytes: it stands in for an input that this process sends.

        The position of the file is that of ssh too, because the process inherited the open file."""
        while self._file and not self._process.has_ended:
            try:
                size, done = os.fstat(self._file.fileno()).st_size, self._file.tell()
            except ValueError:  # another thread closed the channel
                return
            on_sent(done)
            if done >= size:
                return
            yield b""
            time.sleep(_LOOK_S)

    def recv_exit_status(self) -> int:
        """Return the exit code of the command, -1 if none arrived. It is printed before the last mark, because ssh
        itself may wait for a background process on the host."""
        code = self._frame.exit_code(self._errors)
        return self._process.wait() if code is None else code

    def close(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        # First the login, which holds the other end of standard error until the host has answered.
        self._login.close()
        self._process.close()
        self._release()

    def _release(self) -> None:
        self._login.close()
        self.socket.close()
        if self._file:
            self._file.close()
