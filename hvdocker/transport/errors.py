"""Turns exceptions of paramiko, docker, requests and the kernel on an open link into HvdockerErrors.

`ssh/connect_errors.py` does the same while a connection is being opened."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import paramiko

from hvdocker.errors import FREE_IMAGES_FIX, ChannelRefused, HostUnfit, HostUnreachable, HvdockerError

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
    """Translate the errors that the code in the `with` block raises while it uses an open link. Engine errors, refused
    channels, lost connections and other OSErrors become HvdockerErrors. An HvdockerError is raised again, with the
    host's name added.

    `name` is the host. `what` describes the work under way, such as `running a command`, and becomes part of the
    message."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except HvdockerError as error:
        raise error.at(name) from error.__cause__
    except APIError as error:
        raise _engine_error(error, name, what) from error
    except paramiko.ChannelException as error:
        raise ChannelRefused(
            f"the SSH server refused a channel: {what}",
            host=name,
            lines=[str(error)],
            fix="is the Docker engine running? if so, on the host: write `MaxSessions 10` or more into "
            "/etc/ssh/sshd_config, then sudo systemctl restart ssh",
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
    """Return the error for a connection to the host `name` that broke. `what` is the work that was under way, such as
    `reading from a command`. `error` is the exception that showed the break; its text becomes part of the message."""
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
            fix=FREE_IMAGES_FIX,
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
    if "container name" in lowered and "already in use" in lowered:
        return HostUnfit(
            f"another container has this name: {what}",
            host=name,
            lines=[said],
            fix="see whose it is: docker ps -a; then remove or rename it, or give the cluster another name",
        )
    look = "see the engine's log: sudo journalctl -u docker -n 50"
    return HvdockerError(f"the Docker engine refused: {what}", host=name, lines=[said], fix=look)
