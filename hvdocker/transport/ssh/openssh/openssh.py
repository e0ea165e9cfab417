"""Opens channels to the host of one link through `ssh` processes."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from typing import IO, Any

import paramiko

from hvdocker.transport.ssh.framing import Frame
from hvdocker.transport.ssh.openssh.arguments import command_arguments
from hvdocker.transport.ssh.openssh.channel import OpensshChannel
from hvdocker.transport.ssh.openssh.choice import LoginFacts, UploadPipe, choose_pipe
from hvdocker.transport.ssh.openssh.hops import accepted_key_type
from hvdocker.transport.ssh.openssh.login import OpensshLogin, OpensshRefused

_log = logging.getLogger("hvdocker.transport")


class OpensshChannels:
    """Opens channels to the host `name` through `ssh` processes. After a failed login, no further login is tried.

    `connections` is a function that returns the open connections: those to the jump hosts in order, then that to the
    host. They are `Any` because fabric has no types."""

    def __init__(self, name: str, connections: Callable[[], Sequence[Any]]) -> None:
        self._name = name
        self._connections = connections
        self._was_refused = False

    def open_for(
        self, size: int, streams: int, frame: Frame, line: bytes, file: IO[bytes] | None = None
    ) -> OpensshChannel | None:
        """Log in, run `line`, and return its channel once the line prints its first mark. Return None if the upload of
        `size` bytes belongs on the open connection: it is too small, or ssh cannot log in. Then `line` was not run.
        Raise an OSError if the connection was lost after the login.

        `size` is the number of bytes to upload, and `streams` the number of hosts, including this one, that receive an
        upload of this size at the same time. `line` was made by `frame`. Its standard input is `file`, or what the
        caller sends on the channel if `file` is None."""
        connections = self._connections()
        program = shutil.which("ssh") or ""
        facts = LoginFacts(program, accepted_key_type(connections), self._was_refused)
        if choose_pipe(size, streams, facts) is UploadPipe.CONNECTION:
            return None
        try:
            login = OpensshLogin(connections, program)
        except (OpensshRefused, OSError, paramiko.SSHException) as error:
            self.give_up(str(error))
            return None
        try:
            return OpensshChannel(login, command_arguments(program, login.control, line.decode("ascii")), frame, file)
        except OpensshRefused as error:
            self.give_up(str(error))
            return None

    def give_up(self, why: str) -> None:
        """Make `open_for` return None from now on, so that all uploads use the open connection. `why` is the reason,
        which is shown with --debug."""
        self._was_refused = True
        _log.warning("%s: large uploads use the open connection, not ssh: %s", self._name, why)
