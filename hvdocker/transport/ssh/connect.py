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
   `connect_errors` does the same for a connection that cannot be opened, and names the jump host if that is
   what failed. `transport.pool` runs the hosts in threads, at most 30 at once. This file opens at most 30
   connections at once.

The TCP connection and the SSH handshake have limits of their own, because a busy host accepts a connection at
once, but may answer much later. A connection that the server drops before the login (MaxStartups) is tried
again within the limit of the handshake, and a handshake that ran out of time is tried once more.

A host costs one socket, one paramiko thread and less than 100 kB."""

from __future__ import annotations

import getpass
import os
import random
import shlex
import socket
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fabric
import paramiko

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.inventory.ssh_config import config as ssh_config
from hvdocker.inventory.ssh_config.config import key_files
from hvdocker.transport.ssh import host_keys, tcp
from hvdocker.transport.ssh.agent import agent_socket
from hvdocker.transport.ssh.auth import Login, OpenedKeys
from hvdocker.transport.ssh.channel import OPEN_TIMEOUT_S
from hvdocker.transport.ssh.command_line import ssh_words
from hvdocker.transport.ssh.connect_errors import HandshakeTimeout, Hop, files_to_clean
from hvdocker.transport.ssh.handshake import transport_factory
from hvdocker.transport.ssh.keepalive import KeepaliveMonitor

TCP_TIMEOUT_S = 10.0
SECOND_TRY_S = 10
MAX_OPENING = 30

_opening = threading.BoundedSemaphore(MAX_OPENING)


class Credentials:
    """What all SSH connections of one command share: opened keys, known host keys, the passphrases and host keys that
    the user gave or accepted, ~/.ssh/config and the keep-alive monitor.

    `passphrases` maps paths of key files to passphrases. `accepted` are host keys that the user trusts. The caller may
    add to both later; a connection that is opened after that uses the additions."""

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
    """The credentials for one host, and the open connections to the jump hosts on the way to it (`jumps`).

    `hop` is the server to which a connection is being opened: each jump host in turn, and at the end the host itself.
    It is None before the first connection begins."""

    credentials: Credentials = field(default_factory=Credentials)
    jumps: list[Any] = field(default_factory=list)  # Any: fabric connections
    hop: Hop | None = None

    def close(self) -> None:
        while self.jumps:
            self.jumps.pop().close()


def connect(host: Host, route: SshRoute) -> Any:
    """Return an open fabric connection to the host. Connections to its jump hosts are added to `route`. The result is
    `Any` because fabric has no types.

    A handshake that ran out of time is tried once more, for SECOND_TRY_S at most: if the controller itself was
    suspended, the time ran out although the host was ready. Exceptions of paramiko and of the socket are raised
    untranslated; `connect_errors.connecting` translates them."""
    try:
        return _connect_despite_drops(host, route)
    except HandshakeTimeout as timeout:
        soon = min(host.ssh.handshake_limit_s, SECOND_TRY_S)
        try:
            return _connect_despite_drops(replace(host, ssh=replace(host.ssh, handshake_timeout=soon)), route)
        except HandshakeTimeout:
            raise timeout from None


def _connect_despite_drops(host: Host, route: SshRoute) -> Any:
    """Return an open fabric connection to the host. If the connection breaks before the login, try again with growing
    pauses until the limit of the handshake is over. Connections to its jump hosts are added to `route`. The result is
    `Any` because fabric has no types."""
    deadline = time.monotonic() + host.ssh.handshake_limit_s
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
    """Yield pauses in seconds between tries, without end. They grow to 3 s. They are random, so that clients that a
    server dropped at the same time do not all come back at the same time."""
    longest_s = 0.2
    while True:
        yield longest_s * random.uniform(0.5, 1.0)
        longest_s = min(2 * longest_s, 3.0)


def _was_dropped(error: BaseException) -> bool:
    """Return whether `error` means that the server closed the connection before the login. This happens if sshd has too
    many pending logins (MaxStartups) or is just starting. Then another try may succeed."""
    if isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, EOFError)):
        return True
    words = ("Error reading SSH protocol banner", "Negotiation failed")
    return type(error) is paramiko.SSHException and str(error).startswith(words)


def _connect(host: Host, route: SshRoute, before: tuple[str, ...] | None = None) -> Any:
    """Return an open fabric connection to a host. `route` has the credentials. The connections to the jump hosts are
    added to `route`. The result is `Any` because fabric has no types.

    `before` is None for a host of the inventory; its jump hosts are connected first. For a jump host, `before` has the
    names of the jump hosts in front of it, which are connected already."""
    ssh = host.ssh
    connection = fabric.Connection(
        host.host,
        user=ssh.user,
        port=ssh.port,
        gateway=False,
        forward_agent=False,  # hvdocker needs no forwarding, and fabric fails on ForwardAgent with a path
        connect_timeout=int(ssh.handshake_limit_s),
        config=route.credentials.config(),
    )
    _open_jumps(host, connection, route)
    hop = route.hop = _hop(host, connection, route, before)
    judge = _host_key_policy(host, connection, hop, route.credentials)
    login = _login(ssh, connection, route.credentials)
    connection.client.set_missing_host_key_policy(judge)
    sock = _socket(connection, route)
    connection.connect_kwargs = {
        "sock": sock,
        "auth_strategy": login,
        "transport_factory": transport_factory(judge.key_types),
        "auth_timeout": ssh.handshake_limit_s,
        "channel_timeout": OPEN_TIMEOUT_S,
    }
    try:
        connection.open()
    except BaseException:
        connection.client.close()
        sock.close()
        raise
    route.credentials.keepalive.watch(connection.transport)
    return connection


def _open_jumps(host: Host, connection: Any, route: SshRoute) -> None:
    """Connect to the jump hosts of a host, from `ssh: {jump: …}` in the inventory, else from ProxyJump in
    ~/.ssh/config. Add the connections to `route.jumps`. Do nothing if there are none.

    `connection` is the host's own fabric connection, not open yet, from which ~/.ssh/config is read."""
    jump = host.ssh.jump or connection.ssh_config.get("proxyjump")
    if not jump or jump.lower() == "none":
        return
    names = tuple(name.strip() for name in jump.split(","))
    for index, name in enumerate(names):
        jump_host = _jump_host(name, host, bool(route.jumps))
        route.jumps.append(_connect(jump_host, route, names[:index]))


def _hop(host: Host, connection: Any, route: SshRoute, before: tuple[str, ...] | None) -> Hop:
    """Return the description of a server for error messages. `connection` is its fabric connection, not open yet.
    `route` has the open connections to the jump hosts in front of it.

    `before` is None if the server is the host itself. For a jump host, `before` has the names of the jump hosts in
    front of it."""
    shown = host if before is None else replace(host, ssh=replace(host.ssh, jump=",".join(before) or None))
    previous = route.jumps[-1] if route.jumps else None
    config, known_hosts = connection.ssh_config, route.credentials.known_hosts
    known_as = config.get("hostkeyalias") or host_keys.entry_for(connection.host, connection.port)
    known_in = [path for path in _known_hosts_files(config) if known_hosts.about(known_as, [path])]
    keys = [host.ssh.key] if host.ssh.key else config.get("identityfile", [])
    return Hop(
        address=connection.host,
        port=connection.port,
        user=connection.user,
        known_as=known_as,
        by_hand=shlex.join((*ssh_words(shown), "true")),
        is_jump=before is not None,
        through=f"{previous.user}@{previous.host}:{previous.port}" if previous else "",
        proxy_for=host.host if not previous and proxy_command(connection) else "",
        known_in=files_to_clean(known_in, host_keys.user_known_hosts(Path.home())),
        key=str(Path(keys[0]).expanduser()) if keys else "",
    )


def _host_key_policy(host: Host, connection: Any, hop: Hop, credentials: Credentials) -> host_keys.HostKeyPolicy:
    files = _known_hosts_files(connection.ssh_config)
    lines = credentials.known_hosts.about(hop.known_as, files)
    return host_keys.HostKeyPolicy(host.name, hop.known_as, files[-1], lines, credentials.accepted)


def _login(ssh: SshSettings, connection: Any, credentials: Credentials) -> Login:
    config = connection.ssh_config
    certificate = config.get("certificatefile")
    return Login(
        user=connection.user,
        files=key_files(ssh.key, config.get("identityfile", [])),
        keyring=credentials.keyring,
        certificates=(str(Path(certificate).expanduser()),) if certificate else (),
        agent_socket=agent_socket(config.get("identityagent"), _tokens(connection), os.environ),
        is_agent_limited=config.get("identitiesonly", "no").lower() == "yes",
    )


def _tokens(connection: Any) -> Mapping[str, str]:
    """Return the values of OpenSSH's `%` tokens for `connection` (of fabric, not open yet), such as `%h` for the
    address. They are used to expand IdentityAgent."""
    node = socket.gethostname()
    return {
        "%%": "%",
        "%d": str(Path.home()),
        "%h": connection.host,
        "%i": str(os.getuid()),
        "%k": connection.ssh_config.get("hostkeyalias") or connection.original_host,
        "%L": node.partition(".")[0],
        "%l": node,
        "%n": connection.original_host,
        "%p": str(connection.port),
        "%r": connection.user,
        "%u": getpass.getuser(),
    }


def _socket(connection: Any, route: SshRoute) -> Any:
    """Return the socket for the SSH connection: a channel through the last jump host, else the pipes of a ProxyCommand,
    else a tuned TCP socket. The result is `Any` because of these three types.

    `connection` is the fabric connection to the server, not open yet. `route` has the open connections to the jump
    hosts in front of it."""
    if route.jumps:
        return _through(route.jumps[-1].transport, connection)
    if proxy := proxy_command(connection):
        return paramiko.ProxyCommand(proxy)
    return tcp.connect(connection.host, connection.port, TCP_TIMEOUT_S)


def _through(jump: paramiko.Transport, connection: Any) -> paramiko.Channel:
    try:
        address = (connection.host, connection.port)
        return jump.open_channel("direct-tcpip", address, ("", 0), timeout=TCP_TIMEOUT_S)
    except paramiko.ChannelException:
        raise
    except paramiko.SSHException as error:
        if not jump.is_active():
            raise
        # The jump host is alive and still tries to connect.
        raise TimeoutError(str(error)) from error


def proxy_command(connection: Any) -> str:
    """Return the ProxyCommand of ~/.ssh/config for the fabric connection `connection`, with its `%` tokens replaced.
    Return empty text if there is none."""
    proxy = str(connection.ssh_config.get("proxycommand") or "")
    return "" if proxy.lower() == "none" else proxy


def _jump_host(text: str, host: Host, is_behind_another: bool) -> Host:
    user, _, rest = text.rpartition("@")
    name, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        name, port = rest, ""
    settings = SshSettings(
        user=user or None,
        port=int(port) if port else None,
        key=host.ssh.key,
        handshake_timeout=host.ssh.handshake_timeout,
    )
    # A jump host of a chain is reached through those before it, whatever ~/.ssh/config says about it.
    jump = "none" if is_behind_another else None
    return Host(name=host.name, host=name.strip("[]"), ssh=replace(settings, jump=jump))


def _known_hosts_files(settings: Mapping[str, str]) -> list[Path]:
    """Return the known_hosts files: the system's file, then the user's files in reverse order. So the last file of the
    list is the user's first file, to which new keys are written. `settings` are the host's options in ~/.ssh/config."""
    own = [Path(name).expanduser() for name in settings.get("userknownhostsfile", "").split()]
    return [Path("/etc/ssh/ssh_known_hosts"), *reversed(own or [host_keys.user_known_hosts(Path.home())])]
