"""Opens SSH connections: a tuned socket or a jump host underneath, fabric on top, host keys always checked;
~/.ssh/config, agents and jump hosts honoured."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fabric
import paramiko

from hvdocker.errors import UsageProblem
from hvdocker.hosts import trust, wire
from hvdocker.hosts.pulse import watch_pulse
from hvdocker.model.inventory import Host, SshSettings

CONNECT_TIMEOUT_S = 10.0

_OFFERED: Any = paramiko.Transport  # Any: its preferences are unknown to the stubs


class _Transport(paramiko.Transport):
    """The fast algorithms first; everything else paramiko offers stays available behind them."""

    _preferred_ciphers = tuple(
        sorted(_OFFERED._preferred_ciphers, key=lambda name: not name.startswith("aes128-gcm"))
    )
    _preferred_kex = tuple(
        sorted(_OFFERED._preferred_kex, key=lambda name: not name.startswith("curve25519"))
    )


@dataclass
class Way:
    """The way to one host: the jump hosts passed so far, and the host keys a person accepted just now."""

    accepted: Collection[trust.Accepted] = ()
    jumps: list[Any] = field(default_factory=list)  # Any: fabric connections

    def close(self) -> None:
        for jump in reversed(self.jumps):
            jump.close()


def connect(host: Host, way: Way) -> Any:
    """Any: a fabric connection, opened."""
    ssh = host.ssh
    connection = fabric.Connection(
        host.host, user=ssh.user, port=ssh.port, gateway=False, connect_timeout=int(CONNECT_TIMEOUT_S)
    )
    known_hosts = _known_hosts_files(connection.ssh_config)
    connection.client.set_missing_host_key_policy(
        trust.RefuseUnknown(host.name, known_hosts[-1], way.accepted)
    )
    trust.load_known_hosts(connection.client, known_hosts)
    keys = _key_files(ssh, connection)
    sock = _socket(host, connection, way)
    connection.connect_kwargs = {
        "sock": sock,
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
    except BaseException as error:
        connection.client.close()
        sock.close()
        if type(error) in (paramiko.AuthenticationException, paramiko.BadAuthenticationType):
            tried = ", ".join(keys) or "the default keys of ~/.ssh"
            words = f"user {connection.user}; tried {tried}{_agent_words()}"
            raise paramiko.AuthenticationException(words) from error
        raise
    if way.jumps or not isinstance(sock, wire.QuickSocket):
        watch_pulse(connection.transport)
    return connection


def _socket(host: Host, connection: Any, way: Way) -> Any:
    """A tuned TCP socket, or a channel through a jump host, or a ProxyCommand's pipes."""
    jump = host.ssh.jump or connection.ssh_config.get("proxyjump")
    if jump and jump.lower() != "none":
        for hop in jump.split(","):
            way.jumps.append(connect(_jump_host(hop.strip(), host, bool(way.jumps)), way))
    if way.jumps:
        through = way.jumps[-1].transport
        return through.open_channel("direct-tcpip", (connection.host, connection.port), ("", 0))
    proxy = connection.ssh_config.get("proxycommand")
    if proxy and proxy.lower() != "none":
        return paramiko.ProxyCommand(proxy)
    return wire.connect(connection.host, connection.port, CONNECT_TIMEOUT_S)


def _jump_host(text: str, host: Host, is_behind_another: bool) -> Host:
    user, _, rest = text.rpartition("@")
    name, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        name, port = rest, ""
    settings = SshSettings(user=user or None, port=int(port) if port else None, key=host.ssh.key)
    # A jump host of a chain is reached through the ones before it, whatever its own config says.
    jump = "none" if is_behind_another else None
    return Host(name=host.name, host=name.strip("[]"), ssh=replace(settings, jump=jump))


def _key_files(ssh: SshSettings, connection: Any) -> list[str]:
    if not ssh.key:
        return [str(path) for path in connection.ssh_config.get("identityfile", []) if Path(path).is_file()]
    path = Path(ssh.key).expanduser()
    if not path.is_file():
        raise UsageProblem(f"the SSH key {ssh.key} is not there", fix="check `ssh: {key: …}`")
    return [str(path)]


def _known_hosts_files(ssh_config: dict[str, str]) -> list[Path]:
    """The system's, then the user's; the last is where new keys are written."""
    own = [Path(name).expanduser() for name in ssh_config.get("userknownhostsfile", "").split()]
    return [Path("/etc/ssh/ssh_known_hosts"), *reversed(own or [trust.user_known_hosts(Path.home())])]


def _agent_words() -> str:
    return " and the agent's keys" if os.environ.get("SSH_AUTH_SOCK") else "; no agent is running"
