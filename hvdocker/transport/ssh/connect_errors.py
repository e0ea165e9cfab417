"""The errors of opening an SSH connection: which server on the way failed, in which phase, and what to do.

An error is about one `Hop` (a server on the way), because a dead jump host is no fault of the host behind it. All
messages have the address and port that were really used, which ~/.ssh/config may have changed."""

from __future__ import annotations

import errno
import shlex
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from hvdocker.errors import HostUnreachable, HvdockerError

_PROHIBITED = 1  # RFC 4254: the server does not allow this channel


class HandshakeTimeout(TimeoutError):
    """The server accepted the TCP connection, but did not finish the SSH `phase` (handshake or login) within
    `timeout_s`."""

    def __init__(self, phase: str, timeout_s: float) -> None:
        super().__init__(f"no answer in the SSH {phase} for {timeout_s:.0f} s")
        self.phase = phase
        self.timeout_s = timeout_s


@dataclass(frozen=True)
class Hop:
    """One SSH server on the way to a host: the host itself, or with `is_jump` a jump host in front of it.

    `address` and `port` are where the connection goes. `known_as` is the server's name in known_hosts. `by_hand` is an
    ssh command that tries the same connection. `through` is the jump host (`user@host:port`) from which the connection
    is made, empty without one. `proxy_for` is the name that ssh connects to if a ProxyCommand makes the connection,
    else empty. `known_in` are the known_hosts files that have a key of the server; it is empty if there are none, and
    also if ~/.ssh/known_hosts is the only one. `key` is the key file that the inventory or ~/.ssh/config names, empty
    if neither names one."""

    address: str
    port: int = 22
    user: str = ""
    known_as: str = ""
    by_hand: str = ""
    is_jump: bool = False
    through: str = ""
    proxy_for: str = ""
    known_in: tuple[str, ...] = ()
    key: str = ""

    @property
    def target(self) -> str:
        """The address and the port, as `10.0.0.5:22` or `[::1]:22`."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    @property
    def label(self) -> str:
        """The name of the server in messages: `10.0.0.5:22`, or `the jump host 10.0.0.5:22`."""
        return f"the jump host {self.target}" if self.is_jump else self.target


@dataclass(frozen=True)
class _ConnectFailure:
    """The explanation of a failed connection: the message `what`, and the suggested `fix`. `stage` is the phase that
    failed: `resolves` (name lookup), `answers` (TCP connection and SSH handshake), `hostkey` or `login`."""

    stage: str
    what: str
    fix: str


@contextmanager
def connecting(name: str, hop: Callable[[], Hop | None], timeout_s: float) -> Iterator[None]:
    """Translate the errors of the code in the `with` block, which opens a connection to the host `name`. SSH and socket
    errors become HostUnreachable, and an HvdockerError gets the host's name. Other exceptions are raised unchanged.

    `hop` returns the server to which a connection is being opened, or None if no connection has begun. In the second
    case, SSH and socket errors are raised unchanged too. `timeout_s` is the limit of the TCP connection, for
    messages."""
    try:
        yield
    except HvdockerError as error:
        raise error.at(name) from error.__cause__
    except Exception as error:
        at = hop()
        failure = _failure(error, at, timeout_s) if at else None
        if failure is None or at is None:
            raise
        lines = [str(error) or type(error).__name__]
        command = shlex.join(("getent", "hosts", at.address)) if failure.stage == "resolves" else at.by_hand
        told = HostUnreachable(failure.what, host=name, command=command, lines=lines, fix=failure.fix)
        told.stage = failure.stage
        raise told from error


def _failure(error: Exception, hop: Hop, timeout_s: float) -> _ConnectFailure | None:
    """Return the explanation of an error of SSH or of a socket while the connection to `hop` was being opened. Return
    None for any other error. `timeout_s` is the limit of the TCP connection, for the message."""
    if isinstance(error, socket.gaierror):
        return _unresolved(hop)
    if isinstance(error, paramiko.BadHostKeyException):
        return _ConnectFailure(
            "hostkey",
            f"the host key of {hop.label} has changed: it is not the one in known_hosts",
            f"if it was reinstalled, remove the old key: {_forget_command(hop)}; "
            "then add --accept-new-host-keys or connect once with ssh; else beware",
        )
    if isinstance(error, paramiko.AuthenticationException):
        return _ConnectFailure(
            "login",
            f"{hop.label} accepted no SSH key" if hop.is_jump else "no SSH key was accepted",
            "check `ssh: {user: …, key: …}`, or add your key to authorized_keys there: " + ssh_copy_id_command(hop),
        )
    if isinstance(error, paramiko.ChannelException):
        return _not_forwarded(error, hop)
    return _no_answer(error, hop, timeout_s)


def files_to_clean(known_in: Sequence[Path], users_file: Path) -> tuple[str, ...]:
    """Return the known_hosts files that a suggested `ssh-keygen -R` command has to name. `known_in` are the known_hosts
    files that have a key of the server.

    Return no files if `users_file` (~/.ssh/known_hosts) is the only one: ssh-keygen changes this file by default."""
    return () if list(known_in) == [users_file] else tuple(map(str, known_in))


def _forget_command(hop: Hop) -> str:
    """Return the command that removes the keys of `hop` from the files in `hop.known_in`, or from ~/.ssh/known_hosts if
    `hop.known_in` is empty."""
    lines = []
    for path in hop.known_in:
        sudo = ("sudo",) if path.startswith("/etc/") else ()
        lines.append(shlex.join((*sudo, "ssh-keygen", "-f", path, "-R", hop.known_as)))
    return " && ".join(lines) or shlex.join(("ssh-keygen", "-R", hop.known_as))


def _unresolved(hop: Hop) -> _ConnectFailure:
    if hop.is_jump:
        fix = "correct `ssh: {jump: …}` in the inventory or ProxyJump in ~/.ssh/config, or mend DNS"
        return _ConnectFailure("resolves", f"the name {hop.address} of the jump host does not resolve", fix)
    fix = "write its address into the inventory, as in `host: 10.0.0.12`, or mend DNS"
    return _ConnectFailure("resolves", f"the name {hop.address} does not resolve", fix)


def _not_forwarded(error: paramiko.ChannelException, hop: Hop) -> _ConnectFailure:
    """Return the failure for a jump host (`hop.through`) that answers, but does not connect to the next server `hop`.
    `error` is the refusal of the jump host. The fix depends on whether its sshd forbids forwarding."""
    what = f"the jump host {hop.through} could not connect to {hop.label}"
    if error.code == _PROHIBITED:
        return _ConnectFailure("answers", what, "does its sshd allow it? see AllowTcpForwarding in its sshd_config")
    return _ConnectFailure("answers", what, f"is the machine up, and does sshd listen on port {hop.port} there?")


def _no_answer(error: Exception, hop: Hop, timeout_s: float) -> _ConnectFailure | None:
    setting = "ssh: {jump: …}" if hop.is_jump else "ssh: {port: …}"
    if isinstance(error, HandshakeTimeout):
        what = f"{hop.label} answered, but did not finish the SSH {error.phase} in {error.timeout_s:.0f} s"
        more = f"`ssh: {{handshake_timeout: {2 * error.timeout_s:.0f}}}`"
        fix = f"is the host busy? try again later, or allow it more seconds: {more}"
    elif isinstance(error, ConnectionRefusedError):
        what = f"{hop.label} refuses connections"
        fix = f"is sshd running there, and `{setting}` right? on the host: sudo systemctl start ssh"
    elif isinstance(error, TimeoutError):
        what = f"{hop.label} did not answer in {timeout_s:.0f} s"
        fix = f"is the machine up? if so, on the host: sudo ufw allow {hop.port}/tcp"
    elif isinstance(error, (ConnectionResetError, EOFError)) or "protocol banner" in str(error):
        what = f"{hop.label} closed the connection before the login, again and again"
        fix = "is it an sshd, and not overloaded? see MaxStartups in its sshd_config"
    elif isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        what, fix = f"{hop.label} allows no algorithm that hvdocker has", _offered(str(error))
    elif isinstance(error, OSError) and error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        what = f"could not open an SSH connection to {hop.label}"
        fix = f"is the machine up, and `host:` right? look: ip route get {shlex.quote(hop.address)}"
    elif isinstance(error, (paramiko.SSHException, OSError)):
        what, fix = f"could not open an SSH connection to {hop.label}", "try the command above by hand"
    else:
        return None
    return _ConnectFailure("answers", what, fix)


# Words of paramiko's error, the keyword of sshd_config, and paramiko's list of what it offers.
_ALGORITHMS = (
    ("kex", "KexAlgorithms", "_preferred_kex"),
    ("host key", "HostKeyAlgorithms", "_preferred_keys"),
    ("cipher", "Ciphers", "_preferred_ciphers"),
    ("mac", "MACs", "_preferred_macs"),
)
OFFERED_PRIVATE_NAMES = tuple(name for _, _, name in _ALGORITHMS)


def _offered(said: str) -> str:
    """Return the suggested fix for a server that has no algorithm in common with paramiko. `said` is the text of
    paramiko's error; it shows which kind of algorithm is missing (key exchange, host key, cipher or MAC)."""
    offered: Any = paramiko.Transport  # Any: the stubs lack its preferences
    for word, keyword, name in _ALGORITHMS:
        if word in said:
            names = ",".join(getattr(offered, name))
            here = f"paramiko {paramiko.__version__} has no other"
            return f"allow one of these in {keyword} of its sshd_config, because {here}: {names}"
    return "try the command above by hand; what paramiko does not know, hvdocker cannot use"


def ssh_copy_id_command(hop: Hop) -> str:
    """Return the ssh-copy-id command that installs the user's key on the server `hop`. Error messages show it."""
    user = f"{hop.user}@" if hop.user else ""
    # Without -i it would copy a key of ~/.ssh or of the agent, and hvdocker would log in with another one.
    key = ("-i", hop.key) if hop.key else ()
    if hop.proxy_for:
        # Only ssh itself knows the way there, by the name in ~/.ssh/config.
        return shlex.join(("ssh-copy-id", *key, f"{user}{hop.proxy_for}"))
    port = () if hop.port == 22 else ("-p", str(hop.port))
    jump = ("-o", f"ProxyJump={hop.through}") if hop.through else ()
    return shlex.join(("ssh-copy-id", *key, *port, *jump, f"{user}{hop.address}"))
