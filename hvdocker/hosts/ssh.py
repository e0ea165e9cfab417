"""The link to a remote host: one fabric connection, on which commands, files and Docker's API are
channels. Host keys are always checked; ~/.ssh/config, agents and jump hosts are honoured."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fabric
import paramiko
from docker import APIClient

from hvdocker.commands.command import Command
from hvdocker.commands.reach import ssh_words
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.hosts import trust, wire
from hvdocker.hosts.channel import open_unix_channel
from hvdocker.hosts.engine import engine_client
from hvdocker.hosts.link import COMMAND_TIMEOUT_S, Result
from hvdocker.hosts.translate import connecting, lost, talking
from hvdocker.model.inventory import Host, SshSettings

CONNECT_TIMEOUT_S = 10.0
_CHUNK = 1 << 18
_PROHIBITED = 1


@dataclass(frozen=True)
class EngineAccess:
    """How this user gets at the engine: its socket, or `docker system dial-stdio`, perhaps as root."""

    socket: str | None = None
    needs_sudo: bool = False


_OFFERED: Any = paramiko.Transport  # Any: its preferences are unknown to the stubs


class _Transport(paramiko.Transport):
    """The fast algorithms first; everything else paramiko offers stays available behind them."""

    _preferred_ciphers = tuple(
        sorted(_OFFERED._preferred_ciphers, key=lambda name: not name.startswith("aes128-gcm"))
    )
    _preferred_kex = tuple(
        sorted(_OFFERED._preferred_kex, key=lambda name: not name.startswith("curve25519"))
    )


class SshLink:
    def __init__(self, host: Host, connection: Any, jumps: tuple[Any, ...]) -> None:
        """Any: fabric and its connections carry no types."""
        self.name = host.name
        self._host = host
        self._connection = connection
        self._jumps = jumps
        self._access = EngineAccess(socket="/var/run/docker.sock")
        self._engine: APIClient | None = None

    @property
    def _transport(self) -> paramiko.Transport:
        return self._connection.transport  # type: ignore[no-any-return]  # fabric is untyped

    @property
    def needs_sudo(self) -> bool:
        return self._access.needs_sudo

    def use_engine(self, access: EngineAccess) -> None:
        self._access = access

    def run(
        self,
        command: Command,
        stdin: Iterable[bytes] | None = None,
        timeout_s: float | None = COMMAND_TIMEOUT_S,
    ) -> Result:
        with talking(self.name, "running a command"):
            channel = self._exec(command, timeout_s if stdin is None else None)
            feeder = _feed(channel, stdin or ())
            errors: list[bytes] = []
            reader = _drain_stderr(channel, errors)
            out = b"".join(_chunks(channel))
            reader.join()
            feeder.join()
            return Result(command, self._exit_status(channel), out, b"".join(errors))

    def stream(self, command: Command) -> Iterator[bytes]:
        with talking(self.name, "reading from a command"):
            channel = self._exec(command, COMMAND_TIMEOUT_S)
            channel.shutdown_write()
            errors: list[bytes] = []
            reader = _drain_stderr(channel, errors)
            yield from _chunks(channel)
            reader.join()
            code = self._exit_status(channel)
        if code != 0:
            lines = b"".join(errors).decode("utf-8", "replace").splitlines()[-10:]
            raise HvdockerError(
                f"a command failed (exit {code})",
                host=self.name,
                command=self.pasteable(command),
                lines=lines,
            )

    def engine(self) -> APIClient:
        if self._engine is None:
            with talking(self.name, "opening the engine's API"):
                self._engine = engine_client(self._dial)
        return self._engine

    def pasteable(self, command: Command) -> str:
        return shlex.join((*ssh_words(self._host), command.line()))

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._connection.close()
        for jump in reversed(self._jumps):
            jump.close()

    def _exec(self, command: Command, timeout_s: float | None) -> paramiko.Channel:
        channel = self._transport.open_session(timeout=CONNECT_TIMEOUT_S)
        channel.settimeout(timeout_s)
        # A file name need not be text: its bytes travel as they are.
        words: Any = command.line().encode("utf-8", "surrogateescape")  # Any: bytes are taken too
        channel.exec_command(words)
        return channel

    def _exit_status(self, channel: paramiko.Channel) -> int:
        code = channel.recv_exit_status()
        channel.close()
        if code == -1 and not self._transport.is_active():
            raise lost(self.name, "a command was cut off", EOFError("the connection closed"))
        return code

    def _dial(self) -> paramiko.Channel:
        if self._access.socket and not self._access.needs_sudo:
            try:
                return open_unix_channel(self._transport, self._access.socket)
            except paramiko.ChannelException as error:
                if error.code != _PROHIBITED:
                    raise
                # This sshd denies streamlocal forwarding; the docker CLI there can stand in.
                self._access = replace(self._access, socket=None)
        words = Command(("docker", "system", "dial-stdio"))
        return self._exec(words.as_root() if self._access.needs_sudo else words, COMMAND_TIMEOUT_S)


def open_ssh(host: Host) -> SshLink:
    jumps: list[Any] = []  # Any: fabric connections
    target = f"{host.host}:{host.ssh.port or 22}"
    by_hand = shlex.join((*ssh_words(host), "true"))
    try:
        with connecting(host.name, target, by_hand, CONNECT_TIMEOUT_S):
            return SshLink(host, _connect(host, jumps), tuple(jumps))
    except BaseException:
        for jump in reversed(jumps):
            jump.close()
        raise


def _connect(host: Host, jumps: list[Any]) -> Any:
    """Any: a fabric connection. `jumps` collects the connections that this one leans on."""
    ssh = host.ssh
    connection = fabric.Connection(
        host.host, user=ssh.user, port=ssh.port, gateway=False, connect_timeout=int(CONNECT_TIMEOUT_S)
    )
    connection.client.set_missing_host_key_policy(trust.RefuseUnknown(host.name))
    trust.load_known_hosts(connection.client, _known_hosts_files(connection.ssh_config))
    keys = _key_files(ssh, connection)
    connection.connect_kwargs = {
        "sock": _socket(host, connection, jumps),
        "key_filename": keys,
        "look_for_keys": not ssh.key,
        "allow_agent": bool(os.environ.get("SSH_AUTH_SOCK")),
        "transport_factory": _Transport,
        "banner_timeout": CONNECT_TIMEOUT_S,
        "auth_timeout": CONNECT_TIMEOUT_S,
        "channel_timeout": CONNECT_TIMEOUT_S,
    }
    try:
        connection.open()
    except paramiko.PasswordRequiredException:
        raise
    except paramiko.AuthenticationException as error:
        tried = ", ".join(keys) or "the default keys of ~/.ssh"
        words = f"user {connection.user}; tried {tried}{_agent_words()}"
        raise paramiko.AuthenticationException(words) from error
    return connection


def _socket(host: Host, connection: Any, jumps: list[Any]) -> Any:
    """A tuned TCP socket, or a channel through a jump host, or a ProxyCommand's pipes."""
    jump = host.ssh.jump or connection.ssh_config.get("proxyjump")
    if jump and jump.lower() != "none":
        for hop in jump.split(","):
            jumps.append(_connect(_jump_host(hop.strip(), host, jumps), jumps))
        through = jumps[-1].transport
        return through.open_channel("direct-tcpip", (connection.host, connection.port), ("", 0))
    if jumps:
        return jumps[-1].transport.open_channel("direct-tcpip", (connection.host, connection.port), ("", 0))
    proxy = connection.ssh_config.get("proxycommand")
    if proxy and proxy.lower() != "none":
        return paramiko.ProxyCommand(proxy)
    return wire.connect(connection.host, connection.port, CONNECT_TIMEOUT_S)


def _jump_host(text: str, host: Host, jumps: list[Any]) -> Host:
    user, _, rest = text.rpartition("@")
    name, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        name, port = rest, ""
    settings = SshSettings(user=user or None, port=int(port) if port else None, key=host.ssh.key)
    # A jump host of a chain is reached through the ones before it, whatever its own config says.
    jump = "none" if jumps else None
    return Host(name=host.name, host=name.strip("[]"), ssh=replace(settings, jump=jump))


def _key_files(ssh: SshSettings, connection: Any) -> list[str]:
    if not ssh.key:
        return [str(path) for path in connection.ssh_config.get("identityfile", []) if Path(path).is_file()]
    path = Path(ssh.key).expanduser()
    if not path.is_file():
        raise UsageProblem(
            f"the SSH key {ssh.key} is not there", fix="check `ssh: {key: …}` in the inventory"
        )
    return [str(path)]


def _known_hosts_files(ssh_config: dict[str, str]) -> list[Path]:
    own = ssh_config.get("userknownhostsfile")
    files = (
        [Path(name).expanduser() for name in own.split()] if own else [trust.user_known_hosts(Path.home())]
    )
    return [Path("/etc/ssh/ssh_known_hosts"), *files]


def _agent_words() -> str:
    return " and the agent's keys" if os.environ.get("SSH_AUTH_SOCK") else "; no agent is running"


def _feed(channel: paramiko.Channel, stdin: Iterable[bytes]) -> threading.Thread:
    """Writes in a thread of its own, so that a command that talks while it reads cannot block us."""

    def feed() -> None:
        try:
            for chunk in stdin:
                channel.sendall(chunk)
            channel.shutdown_write()
        except OSError:
            # The command ended before it read everything: its exit status tells.
            channel.close()

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    return thread


def _drain_stderr(channel: paramiko.Channel, into: list[bytes]) -> threading.Thread:
    def drain() -> None:
        try:
            while chunk := channel.recv_stderr(_CHUNK):
                into.append(chunk)
        except OSError:
            return

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    return thread


def _chunks(channel: paramiko.Channel) -> Iterator[bytes]:
    while chunk := channel.recv(_CHUNK):
        yield chunk
