"""An SSH server in this process, on loopback, whose handshake can be held back and whose commands a test answers."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from hvdocker.inventory.inventory import Host, SshSettings

DEADLINE_S = 20.0

Answer = Callable[[bytes, paramiko.Channel], int]


def _no_answer(line: bytes, channel: paramiko.Channel) -> int:
    return 0


@dataclass
class SshServer:
    """Accepts every key. `hold` is called with the number of a connection before its handshake; if it returns
    False, the server says nothing on that connection. `answer` runs a command and returns its exit code.
    `allows` is called with the number of a connection and that of a session on it, both from 1; if it returns False,
    the server refuses the session. `key` is its host key."""

    home: Path
    hold: Callable[[int], bool] = lambda number: True
    answer: Answer = _no_answer
    allows: Callable[[int, int], bool] = lambda connection, session: True
    connections: list[socket.socket] = field(default_factory=list)
    _transports: list[paramiko.Transport] = field(default_factory=list)
    _listener: socket.socket = field(init=False)
    key: paramiko.PKey = field(init=False)

    def __post_init__(self) -> None:
        ssh = self.home / ".ssh"
        ssh.mkdir(mode=0o700, exist_ok=True)
        for path in (ssh / "id_ed25519", self.home / "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
        self.key = paramiko.Ed25519Key.from_private_key_file(str(self.home / "host_key"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        (ssh / "known_hosts").write_text(f"{self.entry} ssh-ed25519 {self.key.get_base64()}\n")
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def entry(self) -> str:
        return f"[127.0.0.1]:{self.port}"

    def host(self, handshake_timeout: int | None = None) -> Host:
        return Host("a", "127.0.0.1", ssh=SshSettings("kim", self.port, handshake_timeout=handshake_timeout))

    def drop(self, number: int) -> None:
        """End the connection with this number, the first being 0."""
        self._transports[number].close()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # macOS
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone would leave the thread in `accept`
        self._listener.close()
        for end in (*self._transports, *self.connections):
            end.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._talk, args=(connection, len(self.connections)), daemon=True).start()

    def _talk(self, connection: socket.socket, number: int) -> None:
        if not self.hold(number):
            return
        with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
            transport = paramiko.Transport(connection)
            self._transports.append(transport)
            transport.add_server_key(self.key)
            transport.start_server(server=_Session(self.answer, lambda session: self.allows(number, session)))


class _Session(paramiko.ServerInterface):
    def __init__(self, answer: Answer, allows: Callable[[int], bool]) -> None:
        self._answer = answer
        self._allows = allows
        self._sessions = 0

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.common.AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        self._sessions += 1
        if kind == "session" and self._allows(self._sessions):
            return paramiko.common.OPEN_SUCCEEDED
        return paramiko.common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._run, args=(channel, command), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel, command: bytes) -> None:
        with contextlib.suppress(OSError, EOFError):
            channel.send_exit_status(self._answer(command, channel))
            channel.close()
