"""Opens the one SSH connection to a host. The whole transport, step by step:

1. `tcp` connects a TCP socket, tuned so that the handshake has no stalls and the kernel detects a dead host.
   Behind a jump host (or a chain of them) the socket is a channel of the connection to the last jump host.
   With a ProxyCommand the socket is the pipes of that program. `keepalive` watches every connection for
   received data, because the kernel cannot detect a frozen sshd, or a dead host behind a jump host or a
   ProxyCommand.
2. Paramiko speaks SSH on that socket, fast algorithms first, with the settings that `inventory.ssh_config`
   found in ~/.ssh/config.
3. `host_keys` checks the key of the host; `auth` offers the agent's keys, key files and certificates. An
   unknown host key, or a key file with a passphrase, raises an error. `transport.session` collects these
   errors and asks the user once for all hosts.
4. The open connection becomes a `link.SshLink`. Each command runs in its own session channel; a file or an
   archive is sent as the standard input of a command. The Docker API is HTTP on a channel to the engine's
   socket (`channel`). If sshd denies such channels, `docker system dial-stdio` on the host carries the HTTP
   instead. `transport.docker_api` makes the Docker SDK use either.
5. `transport.errors` turns exceptions of paramiko, docker and the kernel into HvdockerErrors.
   `transport.pool` runs the hosts in threads, at most 30 at once. This file opens at most 30 connections at
   once. A connection that the server drops before the login (MaxStartups) is retried within
   CONNECT_TIMEOUT_S.

A host costs one socket, one paramiko thread and less than 100 kB."""

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
from hvdocker.transport.ssh.auth import Login, OpenedKeys
from hvdocker.transport.ssh.channel_close import ClosingTransport
from hvdocker.transport.ssh.keepalive import KeepaliveMonitor, MonitoredSocket

CONNECT_TIMEOUT_S = 10.0
MAX_OPENING = 30
# Private names of paramiko, which `_Transport` reorders; a unit test checks that they exist.
PREFERENCES_PRIVATE_NAMES = ("_preferred_ciphers", "_preferred_kex")

_OFFERED: Any = paramiko.Transport  # Any: the stubs lack its preferences
_opening = threading.BoundedSemaphore(MAX_OPENING)


class _Transport(ClosingTransport):
    """Prefers the fast algorithms; everything else that paramiko offers stays available after them."""

    _preferred_ciphers = tuple(sorted(_OFFERED._preferred_ciphers, key=lambda name: not name.startswith("aes128-gcm")))
    _preferred_kex = tuple(sorted(_OFFERED._preferred_kex, key=lambda name: not name.startswith("curve25519")))

    def __init__(self, sock: Any, **settings: Any) -> None:
        """Wrap `sock` in `monitored_socket`, from which `keepalive` reads when data was last received. The
        arguments are `Any` because paramiko calls this method with its own values."""
        self.monitored_socket = MonitoredSocket(sock)
        monitored: Any = self.monitored_socket  # Any: a socket in all but type
        super().__init__(monitored, **settings)


class Credentials:
    """Everything that the connections of one command to all its hosts share: opened keys, known host keys, the
    answers of the user, ~/.ssh/config and the keep-alive monitor.

    The caller may add passphrases and accepted host keys to the given collections later; the next connection
    uses them."""

    def __init__(
        self,
        passphrases: Mapping[str, str] | None = None,
        accepted: Collection[host_keys.AcceptedKey] = (),
        keepalive: KeepaliveMonitor | None = None,
    ) -> None:
        self.keyring = OpenedKeys({} if passphrases is None else passphrases)
        self.known_hosts = host_keys.KnownHosts()
        self.accepted = accepted
        found = ssh_config.load()
        self.notes = found.notes
        self._ssh_config = found
        self.keepalive = keepalive or KeepaliveMonitor()

    def config(self) -> Any:
        """Return a new fabric configuration. Each connection needs its own, because opening a connection clears
        and refills its configuration, while another thread might read it. The result is `Any` because fabric has
        no types."""
        return fabric.Config(ssh_config=self._ssh_config)


@dataclass
class SshRoute:
    """The credentials for one host, and the open connections to the jump hosts on the way to it."""

    credentials: Credentials = field(default_factory=Credentials)
    jumps: list[Any] = field(default_factory=list)  # Any: fabric connections

    def close(self) -> None:
        while self.jumps:
            self.jumps.pop().close()


def connect(host: Host, route: SshRoute) -> Any:
    """Return an open fabric connection to the host. If the server drops the connection before the login, try
    again with growing pauses until CONNECT_TIMEOUT_S is over. The result is `Any` because fabric has no types."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    for pause_s in _pauses():
        try:
            with _opening:
                return _connect(host, route)
        except BaseException as error:
            route.close()
            if not _was_dropped(error) or time.monotonic() + pause_s > deadline:
                raise
        time.sleep(pause_s)
    raise AssertionError("pauses never end")


def _pauses() -> Iterator[float]:
    """Yield pauses in seconds that grow to 3 s. They are random, so that clients dropped together do not
    return together."""
    longest_s = 0.2
    while True:
        yield longest_s * random.uniform(0.5, 1.0)
        longest_s = min(2 * longest_s, 3.0)


def _was_dropped(error: BaseException) -> bool:
    """Return whether the server closed the connection before the login. This happens if sshd has too many
    pending logins (MaxStartups) or is just starting."""
    if isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, EOFError)):
        return True
    words = ("Error reading SSH protocol banner", "Negotiation failed")
    return type(error) is paramiko.SSHException and str(error).startswith(words)


def _connect(host: Host, route: SshRoute) -> Any:
    ssh = host.ssh
    connection = fabric.Connection(
        host.host,
        user=ssh.user,
        port=ssh.port,
        gateway=False,
        forward_agent=False,  # hvdocker needs no forwarding, and fabric fails on ForwardAgent with a path
        connect_timeout=int(CONNECT_TIMEOUT_S),
        config=route.credentials.config(),
    )
    judge = _host_key_policy(host, connection, route.credentials)
    login = _login(ssh, connection, route.credentials)
    connection.client.set_missing_host_key_policy(judge)
    sock = _socket(host, connection, route)
    connection.connect_kwargs = {
        "sock": sock,
        "auth_strategy": login,
        "transport_factory": _transport_factory(judge.key_types),
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
    route.credentials.keepalive.watch(connection.transport)
    return connection


def _host_key_policy(host: Host, connection: Any, credentials: Credentials) -> host_keys.HostKeyPolicy:
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


def _transport_factory(known: frozenset[str]) -> Callable[..., paramiko.Transport]:
    """Return a function that creates paramiko transports and prefers the host key types in `known`, so that the
    host shows a key that known_hosts has."""

    def make(sock: Any, **settings: Any) -> paramiko.Transport:  # Any: as paramiko calls it
        transport = _Transport(sock, **settings)
        options = transport.get_security_options()
        options.key_types = sorted(options.key_types, key=lambda name: _known_hosts_key_type(name) not in known)
        return transport

    return make


def _known_hosts_key_type(algorithm: str) -> str:
    """Return the key type that known_hosts uses for a signature algorithm. All RSA algorithms, such as
    `rsa-sha2-512`, have the key type `ssh-rsa`."""
    return "ssh-rsa" if algorithm.startswith("rsa-") else algorithm


def _socket(host: Host, connection: Any, route: SshRoute) -> Any:
    """Return a tuned TCP socket, or a channel through the last jump host, or the pipes of a ProxyCommand.

    Connections to jump hosts are opened here and added to `route.jumps`."""
    jump = host.ssh.jump or connection.ssh_config.get("proxyjump")
    if jump and jump.lower() != "none":
        for hop in jump.split(","):
            route.jumps.append(_connect(_jump_host(hop.strip(), host, bool(route.jumps)), route))
    if route.jumps:
        through = route.jumps[-1].transport
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
    # A jump host of a chain is reached through those before it, whatever ~/.ssh/config says about it.
    jump = "none" if is_behind_another else None
    return Host(name=host.name, host=name.strip("[]"), ssh=replace(settings, jump=jump))


def _known_hosts_files(settings: Mapping[str, str]) -> list[Path]:
    """Return the known_hosts files: the system's file, then the user's files in reverse order. New keys are
    written to the last file of the list. `settings` are the host's options in ~/.ssh/config."""
    own = [Path(name).expanduser() for name in settings.get("userknownhostsfile", "").split()]
    return [Path("/etc/ssh/ssh_known_hosts"), *reversed(own or [host_keys.user_known_hosts(Path.home())])]
