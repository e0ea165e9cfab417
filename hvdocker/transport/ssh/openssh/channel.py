"""Presents an `ssh` process that runs one command as a channel, in place of a session channel of the open
connection."""

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
    """A socket with the attribute `closed`, as a paramiko channel has it. The Docker SDK reads this attribute."""

    @property
    def closed(self) -> bool:
        return self.fileno() < 0


class OpensshChannel:
    """A channel (CommandChannel) that is an `ssh` process. The process is started with the command line `argv`, which
    runs a line of `Frame.coded_line` or `Frame.open_line` of `frame`. `login` is the login that the process uses; it is
    closed with the channel.

    If `file` is given, the process reads its standard input from this file. Otherwise `send` writes to its standard
    input. The process is connected by a socket, because a pipe takes more processor time."""

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
        """Call `on_sent` several times a second with the number of bytes of the file that ssh has read so far. End when
        all bytes are read or the process has ended.

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
        """Return the exit code of the command, or -1 if none arrived. The code is read from standard error, because the
        `ssh` process itself may not end while a background process of the command runs on the host."""
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
