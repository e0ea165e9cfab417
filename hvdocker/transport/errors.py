"""The only file that turns exceptions of paramiko, docker, requests and the kernel into HvdockerErrors."""

from __future__ import annotations

import errno
import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import paramiko

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError


@contextmanager
def connecting(name: str, target: str, pasteable: str, timeout_s: float) -> Iterator[None]:
    """Translate errors while a connection is being opened: SSH and socket errors become HostUnreachable.

    `target` is `host:port`, `pasteable` a command that the user can try by hand."""
    try:
        yield
    except HvdockerError as error:
        raise error.at(name) from error.__cause__
    except Exception as error:
        failure = _connect_failure(error, target, timeout_s)
        if failure is None:
            raise
        stage, what, fix = failure
        lines = [str(error) or type(error).__name__]
        command = shlex.join(("getent", "hosts", host_of(target))) if stage == "resolves" else pasteable
        told = HostUnreachable(what, host=name, command=command, lines=lines, fix=fix)
        told.stage = stage
        raise told from error


def _connect_failure(error: Exception, target: str, timeout_s: float) -> tuple[str, str, str] | None:
    """Return (failed phase, message, fix) for an error of SSH or a socket, and None for any other error. The
    phases are listed at HostUnreachable."""
    if isinstance(error, socket.gaierror):
        what = f"the name {host_of(target)} does not resolve"
        return "resolves", what, "write its address into the inventory, as in `host: 10.0.0.12`, or mend DNS"
    if isinstance(error, paramiko.BadHostKeyException):
        what = f"the host key of {target} has changed: it is not the one in known_hosts"
        forget = shlex.join(("ssh-keygen", "-R", known_hosts_name(target)))
        return "hostkey", what, f"if it was reinstalled, remove the old key: {forget}; else beware"
    if isinstance(error, paramiko.AuthenticationException):
        fix = "check `ssh: {user: …, key: …}`, or add your key to authorized_keys there: " + ssh_copy_id_command(
            target, error
        )
        return "login", "no SSH key was accepted", fix
    return _no_answer(error, target, timeout_s)


def _no_answer(error: Exception, target: str, timeout_s: float) -> tuple[str, str, str] | None:
    if isinstance(error, ConnectionRefusedError):
        what = f"{target} refuses connections"
        fix = "is sshd running there, and `ssh: {port: …}` right? on the host: sudo systemctl start ssh"
    elif isinstance(error, (socket.timeout, TimeoutError)):
        what = f"{target} did not answer in {timeout_s:.0f} s"
        fix = f"is the machine up? if so, on the host: sudo ufw allow {target.rpartition(':')[2]}/tcp"
    elif isinstance(error, (ConnectionResetError, EOFError)) or "protocol banner" in str(error):
        what = f"{target} closed the connection before the login, again and again"
        fix = "is it an sshd, and not overloaded? see MaxStartups in its sshd_config"
    elif isinstance(error, OSError) and error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        what = f"could not open an SSH connection to {target}"
        fix = f"is the machine up, and `host:` right? look: ip route get {shlex.quote(host_of(target))}"
    elif isinstance(error, (paramiko.SSHException, OSError)):
        what, fix = f"could not open an SSH connection to {target}", "try the command above by hand"
    else:
        return None
    return "answers", what, fix


def host_of(target: str) -> str:
    return target.rpartition(":")[0].strip("[]")


def known_hosts_name(target: str) -> str:
    """Return the host as known_hosts writes it: `gpu-a` for port 22, `[gpu-a]:2222` for any other port."""
    host, port = host_of(target), target.rpartition(":")[2]
    return host if port == "22" else f"[{host}]:{port}"


def ssh_copy_id_command(target: str, error: Exception) -> str:
    """Return the ssh-copy-id command that installs the user's key on the target. The SSH user is read from the
    beginning of the error's text, where `auth.py` puts it."""
    host, port = host_of(target), target.rpartition(":")[2]
    found = re.match(r"user ([^;:\s]+)[;:]", str(error))
    user = f"{found[1]}@" if found else ""
    return shlex.join(("ssh-copy-id", *(() if port == "22" else ("-p", port)), f"{user}{host}"))


# Errnos of a lost connection. Every other errno is about files on the controller.
_CONNECTION_LOST_ERRNOS = frozenset(
    getattr(errno, name)
    for name in (
        "EPIPE",
        "ECONNRESET",
        "ECONNABORTED",
        "ECONNREFUSED",
        "ETIMEDOUT",
        "EHOSTUNREACH",
        "ENETUNREACH",
        "ENETDOWN",
        "EHOSTDOWN",
        "ENOTCONN",
        "ESHUTDOWN",
        "EBADF",
    )
    if hasattr(errno, name)
)


@contextmanager
def translating_errors(name: str, what: str) -> Iterator[None]:
    """Translate errors while an open link is used: engine errors, refused channels and lost connections become
    HvdockerErrors.

    `name` is the host. `what` describes the work under way and becomes part of the message."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except HvdockerError as error:
        raise error.at(name) from error.__cause__
    except APIError as error:
        raise _engine_error(error, name, what) from error
    except paramiko.ChannelException as error:
        raise HostUnfit(
            f"the SSH server refused a channel: {what}",
            host=name,
            lines=[str(error)],
            fix="is the Docker engine running, and does sshd allow sessions (MaxSessions)?",
        ) from error
    except DockerException as error:
        raise HostUnfit(
            f"the Docker engine does not answer: {what}",
            host=name,
            lines=[str(error)],
            fix="is it running? sudo systemctl start docker",
        ) from error
    except (paramiko.SSHException, RequestException, ConnectionError, TimeoutError, EOFError) as error:
        raise connection_lost(name, what, error) from error
    except OSError as error:
        if error.errno is None or error.errno in _CONNECTION_LOST_ERRNOS:
            raise connection_lost(name, what, error) from error
        where = f": {error.filename}" if error.filename else ""
        raise HvdockerError(f"this machine has a problem of its own: {error.strerror}{where}") from error


def connection_lost(name: str, what: str, error: Exception) -> HostUnreachable:
    """Return the error for a connection that broke while `what` was under way."""
    return HostUnreachable(
        f"the connection was lost: {what}",
        host=name,
        lines=[str(error) or type(error).__name__],
        fix="run the same command again; it takes up where this one stopped",
    )


def _engine_error(error: Exception, name: str, what: str) -> HvdockerError:
    said = str(getattr(error, "explanation", None) or error)
    lowered = said.lower()
    if "no space left" in lowered:
        return HostUnfit(
            f"the disk is full: {what}",
            host=name,
            lines=[said],
            fix="free some space: docker image prune && docker builder prune",
        )
    if "unknown device" in lowered and "nvidia" in lowered:
        return HostUnfit(
            f"a GPU that the container should get is not there any more: {what}",
            host=name,
            lines=[said],
            fix="see what there is with hvdocker gpus, then hvdocker up: it takes others",
        )
    if "could not select device driver" in lowered or "nvidia" in lowered:
        return HostUnfit(
            f"the NVIDIA container toolkit is missing or broken: {what}",
            host=name,
            lines=[said],
            fix="install nvidia-container-toolkit and restart docker",
        )
    look = "see the engine's log: sudo journalctl -u docker -n 50"
    return HvdockerError(f"the Docker engine refused: {what}", host=name, lines=[said], fix=look)
