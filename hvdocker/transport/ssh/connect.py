"""Opens the one SSH connection to a host. How the transport works, for whoever comes here first:

1. `wire` connects a TCP socket, tuned so that the handshake has no stalls and a dead host is noticed by the
   kernel. Behind a jump host the socket is a channel of the connection to that host (and so on through a
   chain), with a ProxyCommand it is that program's pipes. `pulse` listens on all of them for signs of life,
   which the kernel cannot tell of an sshd that is frozen or of what is behind something else.
2. Paramiko speaks SSH on that socket, with the fast algorithms first, as `ssh_config` found in ~/.ssh/config.
3. `trust` judges the key that the host shows; `login` offers the agent's keys, key files and certificates. An
   unknown host key or a locked key file is an error that `ops.session` turns into one question for all hosts.
4. The open connection becomes an `ssh.SshLink`. A command is a session channel of it; a file or an archive is
   the standard input of a command; Docker's API is HTTP on a `channel` to the engine's socket, or on
   `docker system dial-stdio` where sshd denies that, and `engine` puts the Docker SDK on it.
5. `translate` turns whatever paramiko, docker and the kernel raise into our errors. `pool` runs the hosts in
   threads, at most 30 at once, and here at most 30 connections are being opened at once; a server that drops
   one before the login (MaxStartups) is tried again within CONNECT_TIMEOUT_S.

Per host that is one socket, one thread of paramiko's and less than 100 kB."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fabric
import paramiko

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.inventory.ssh_config import config as ssh_config
from hvdocker.inventory.ssh_config.config import key_files
from hvdocker.transport.ssh import host_keys, tcp
from hvdocker.transport.ssh.auth import Keyring, Login
from hvdocker.transport.ssh.channel_close import ClosingTransport
from hvdocker.transport.ssh.keepalive import KeepaliveMonitor, MonitoredSocket

CONNECT_TIMEOUT_S = 10.0
MOST_OPENING = 30
# Private to paramiko, as PARAMIKO_PARTS in `channel`: the preferences that `_Transport` puts in order.
PARAMIKO_PREFERENCES = ("_preferred_ciphers", "_preferred_kex")

_OFFERED: Any = paramiko.Transport  # Any: its preferences are unknown to the stubs
_opening = threading.BoundedSemaphore(MOST_OPENING)


class _Transport(ClosingTransport):
    """The fast algorithms first; everything else paramiko offers stays available behind them."""

    _preferred_ciphers = tuple(
        sorted(_OFFERED._preferred_ciphers, key=lambda name: not name.startswith("aes128-gcm"))
    )
    _preferred_kex = tuple(
        sorted(_OFFERED._preferred_kex, key=lambda name: not name.startswith("curve25519"))
    )

    def __init__(self, sock: Any, **settings: Any) -> None:
        """Any: as paramiko calls it. `pulse` asks the ear."""
        self.ear = MonitoredSocket(sock)
        ear: Any = self.ear  # Any: a socket in all but type
        super().__init__(ear, **settings)


class Credentials:
    """What a command has for all its hosts: opened keys, known host keys, what a person answered, and the
    watch over its connections; the answers may grow between two attempts."""

    def __init__(
        self,
        passphrases: Mapping[str, str] | None = None,
        accepted: Collection[host_keys.Accepted] = (),
        pulse: KeepaliveMonitor | None = None,
    ) -> None:
        self.keyring = Keyring({} if passphrases is None else passphrases)
        self.known_hosts = host_keys.KnownHosts()
        self.accepted = accepted
        found = ssh_config.load()
        self.notes = found.notes
        self._ssh_config = found
        self.pulse = pulse or KeepaliveMonitor()

    def config(self) -> Any:
        """One for each connection: making a connection empties and fills the configuration that it is given,
        while others may read it. Any: fabric carries no types."""
        return fabric.Config(ssh_config=self._ssh_config)


@dataclass
class SshRoute:
    """The way to one host: what opens it, and the jump hosts passed so far."""

    credentials: Credentials = field(default_factory=Credentials)
    jumps: list[Any] = field(default_factory=list)  # Any: fabric connections

    def close(self) -> None:
        while self.jumps:
            self.jumps.pop().close()


def connect(host: Host, way: SshRoute) -> Any:
    """Any: a fabric connection, opened. A busy server's refusal to talk is not its last word."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    for pause_s in _pauses():
        try:
            with _opening:
                return _connect(host, way)
        except BaseException as error:
            way.close()
            if not _was_dropped(error) or time.monotonic() + pause_s > deadline:
                raise
        time.sleep(pause_s)
    raise AssertionError("pauses never end")


def _pauses() -> Iterator[float]:
    """Growing, and different for each of many that were dropped together."""
    longest_s = 0.2
    while True:
        yield longest_s * random.uniform(0.5, 1.0)
        longest_s = min(2 * longest_s, 3.0)


def _was_dropped(error: BaseException) -> bool:
    """Before anybody logged in: an sshd that has too many at the door, or one that is just starting."""
    if isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, EOFError)):
        return True
    words = ("Error reading SSH protocol banner", "Negotiation failed")
    return type(error) is paramiko.SSHException and str(error).startswith(words)


def _connect(host: Host, way: SshRoute) -> Any:
    ssh = host.ssh
    connection = fabric.Connection(
        host.host,
        user=ssh.user,
        port=ssh.port,
        gateway=False,
        forward_agent=False,  # nothing of ours needs it, and fabric stumbles over ForwardAgent with a path
        connect_timeout=int(CONNECT_TIMEOUT_S),
        config=way.credentials.config(),
    )
    judge = _judge(host, connection, way.credentials)
    login = _login(ssh, connection, way.credentials)
    connection.client.set_missing_host_key_policy(judge)
    sock = _socket(host, connection, way)
    connection.connect_kwargs = {
        "sock": sock,
        "auth_strategy": login,
        "transport_factory": _transports(judge.key_types),
        "banner_timeout": CONNECT_TIMEOUT_S,
        "auth_timeout": CONNECT_TIMEOUT_S,
        "channel_timeout": CONNECT_TIMEOUT_S,
    }
    try:
        connection.open()
    except BaseException:
        connection.client.close()
        sock.close()
        raise
    way.credentials.pulse.watch(connection.transport)
    return connection


def _judge(host: Host, connection: Any, credentials: Credentials) -> host_keys.HostKeyPolicy:
    files = _known_hosts_files(connection.ssh_config)
    entry = host_keys.entry_for(connection.host, connection.port)
    lines = credentials.known_hosts.about(entry, files)
    return host_keys.HostKeyPolicy(host.name, files[-1], lines, credentials.accepted)


def _login(ssh: SshSettings, connection: Any, credentials: Credentials) -> Login:
    config = connection.ssh_config
    certificate = config.get("certificatefile")
    return Login(
        user=connection.user,
        files=key_files(ssh.key, config.get("identityfile", [])),
        keyring=credentials.keyring,
        certificates=(str(Path(certificate).expanduser()),) if certificate else (),
        is_agent_limited=config.get("identitiesonly", "no").lower() == "yes",
    )


def _transports(known: frozenset[str]) -> Callable[..., paramiko.Transport]:
    """Makes transports that ask a host for a key of a type that is known, where one is."""

    def make(sock: Any, **settings: Any) -> paramiko.Transport:  # Any: as paramiko calls it
        transport = _Transport(sock, **settings)
        options = transport.get_security_options()
        options.key_types = sorted(options.key_types, key=lambda name: _as_known(name) not in known)
        return transport

    return make


def _as_known(algorithm: str) -> str:
    """An RSA key has one name in known_hosts, whatever it signs with."""
    return "ssh-rsa" if algorithm.startswith("rsa-") else algorithm


def _socket(host: Host, connection: Any, way: SshRoute) -> Any:
    """A tuned TCP socket, or a channel through a jump host, or a ProxyCommand's pipes."""
    jump = host.ssh.jump or connection.ssh_config.get("proxyjump")
    if jump and jump.lower() != "none":
        for hop in jump.split(","):
            way.jumps.append(_connect(_jump_host(hop.strip(), host, bool(way.jumps)), way))
    if way.jumps:
        through = way.jumps[-1].transport
        return through.open_channel("direct-tcpip", (connection.host, connection.port), ("", 0))
    proxy = connection.ssh_config.get("proxycommand")
    if proxy and proxy.lower() != "none":
        return paramiko.ProxyCommand(proxy)
    return tcp.connect(connection.host, connection.port, CONNECT_TIMEOUT_S)


def _jump_host(text: str, host: Host, is_behind_another: bool) -> Host:
    user, _, rest = text.rpartition("@")
    name, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        name, port = rest, ""
    settings = SshSettings(user=user or None, port=int(port) if port else None, key=host.ssh.key)
    # A jump host of a chain is reached through the ones before it, whatever its own config says.
    jump = "none" if is_behind_another else None
    return Host(name=host.name, host=name.strip("[]"), ssh=replace(settings, jump=jump))


def _known_hosts_files(settings: Mapping[str, str]) -> list[Path]:
    """The system's, then the user's; the last is where new keys are written."""
    own = [Path(name).expanduser() for name in settings.get("userknownhostsfile", "").split()]
    return [Path("/etc/ssh/ssh_known_hosts"), *reversed(own or [host_keys.user_known_hosts(Path.home())])]
