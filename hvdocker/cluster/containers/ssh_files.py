"""Renders the SSH files of a cluster: config, known_hosts, authorized_keys and sshd_config. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.engine.file_spec import user_name

SSH_FOLDER = f"{names.CONTAINER_FOLDER}/ssh"


@dataclass(frozen=True)
class ClusterMember:
    """A worker as other workers see it: name, training address and the user to log in as."""

    name: str
    address: str
    user: str


def render_ssh_config(template: str, cluster: str, members: Iterable[ClusterMember], port: int) -> str:
    """Return the SSH client config with which a worker or master logs in to all `members`.

    `template` is the text of templates/ssh_config.j2. `cluster` is the name of the cluster, and `port` the port of
    the members' sshd."""
    import jinja2  # costs 25 ms, which --help and completion do not need

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template).render(cluster=cluster, hosts=list(members), port=port, folder=SSH_FOLDER)


def known_hosts(members: Iterable[ClusterMember], host_keys: Mapping[str, str], port: int) -> str:
    """Return the text of a known_hosts file with the host key of every worker in `members`, by training address.

    `host_keys` are the public host keys, by host. `port` is the port of the workers' sshd. The file contains the port
    only if it is not 22."""
    lines = []
    for member in members:
        shown = member.address if port == 22 else f"[{member.address}]:{port}"
        lines.append(f"{shown} {host_keys[member.name]}\n")
    return "".join(lines)


def authorized_keys(client_public: str, members: Iterable[ClusterMember]) -> str:
    """Return the text of an authorized_keys file. It accepts the key `client_public` only from the addresses of
    `members`.

    `client_public` is the line of a public key file."""
    sources = ",".join(member.address for member in members)
    return f'restrict,from="{sources}" {client_public}\n'


def sshd_config(address: str, port: int, uid: int) -> str:
    """Return the configuration of a worker's sshd, which listens on `address` and `port`. Only the user `uid` may log
    in.

    Every feature that ranks do not need is turned off, explicitly even if off is OpenSSH's default. There is no
    Subsystem (SFTP) and no AcceptEnv. ClientAliveInterval is short, because sshd checks whether its client is alive
    only after the connection was silent for the whole interval."""
    return f"""\
Port {port}
ListenAddress {address}
HostKey {SSH_FOLDER}/host_ed25519_key
HostKeyAlgorithms ssh-ed25519
AuthorizedKeysFile {SSH_FOLDER}/authorized_keys
AllowUsers {user_name(uid)}
PermitRootLogin {"prohibit-password" if uid == 0 else "no"}
AuthenticationMethods publickey
PubkeyAuthentication yes
PubkeyAcceptedAlgorithms ssh-ed25519
PasswordAuthentication no
PermitEmptyPasswords no
KbdInteractiveAuthentication no
HostbasedAuthentication no
IgnoreRhosts yes
UsePAM no
PidFile none
StrictModes yes
DisableForwarding yes
AllowAgentForwarding no
AllowTcpForwarding no
AllowStreamLocalForwarding no
PermitOpen none
PermitListen none
GatewayPorts no
X11Forwarding no
PermitTunnel no
PermitTTY no
PermitUserEnvironment no
PermitUserRC no
Compression no
Banner none
PrintMotd no
UseDNS no
LoginGraceTime 30
MaxAuthTries 3
MaxStartups 200:30:400
MaxSessions 200
ClientAliveInterval 1
ClientAliveCountMax 10
LogLevel INFO
"""
