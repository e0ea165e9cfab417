"""Presents an `ssh` process that runs one command as a channel, in place of a session channel of the open
connection."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from hvdocker.transport.ssh.framing import Frame
from hvdocker.transport.ssh.openssh.login import OpensshLogin
from hvdocker.transport.ssh.openssh.process import SshProcess

_PACKET = 1 << 20
_ERRORS = 1 << 18
_LOOK_S = 0.1


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
        self._file = os.dup(file.fileno()) if file else None
        self._errors = b""
        self._is_closed = False
        ours, its = socket.socketpair()
        self.socket = PipeSocket(fileno=ours.detach())
        try:
            with its:
                self._process = SshProcess(argv, stdin=file or its, stdout=its, stderr=subprocess.PIPE)
        except BaseException:
            self._release()
            raise

    def recv(self, size: int) -> bytes:
        """Return the next bytes of the command's standard output, or empty bytes at its end. Raise ConnectionResetError
        if the connection was lost."""
        try:
            data = self.socket.recv(size)
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

        The iterator yields only empty bytes: the caller uses it as the standard input to send, but ssh reads the file
        itself. This object shares the file's read position with ssh, because ssh inherited the open file."""
        while self._file is not None and not self._process.has_ended:
            size, done = os.fstat(self._file).st_size, os.lseek(self._file, 0, os.SEEK_CUR)
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
        self._process.close()
        self._release()

    def _release(self) -> None:
        self._login.close()
        self.socket.close()
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
