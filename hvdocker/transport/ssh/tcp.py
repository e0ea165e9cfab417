"""The TCP socket of an SSH connection, with options that make handshakes fast and detect dead hosts.

Nagle's algorithm together with delayed acknowledgements costs two 40 ms stalls in every SSH handshake. They
disappear with TCP_NODELAY and with TCP_QUICKACK, which has to be set again after each read. The kernel detects a
dead host: the connection ends if data or keep-alives stay unacknowledged for DEAD_HOST_S seconds."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from typing import Any

DEAD_HOST_S = 20


class QuickSocket(socket.socket):
    """A socket that sets TCP_QUICKACK again after each read, because the kernel clears it."""

    def recv(self, *args: int) -> bytes:
        data = super().recv(*args)
        _set_option(self, "TCP_QUICKACK", 1)
        return data


def connect(host: str, port: int, timeout_s: float) -> QuickSocket:
    """Try the addresses of the host in turn, as OpenSSH does, and return a socket connected to the first that answers.
    `timeout_s` is the limit of each try. Raise the last error if no address answers."""
    last: OSError | None = None
    for family, kind, protocol, _, address in _addresses(host, port):
        wire = QuickSocket(family, kind, protocol)
        try:
            wire.settimeout(timeout_s)
            wire.connect(address)
        except OSError as error:
            wire.close()
            last = error
            continue
        _tune(wire)
        return wire
    raise last or OSError(f"no address found for {host}")


def _addresses(host: str, port: int) -> Sequence[tuple[int, int, int, str, Any]]:
    """Return the addresses of the host as getaddrinfo does. Raise socket.gaierror also for a name that no host can
    have, such as `a..b`, which Python cannot encode."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(
            socket.EAI_NONAME, "a part between the dots of the name is empty or has more than 63 characters"
        ) from error


def _tune(wire: socket.socket) -> None:
    _set_option(wire, "TCP_NODELAY", 1)
    _set_option(wire, "TCP_QUICKACK", 1)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # The idle time before the first keep-alive; macOS calls the option TCP_KEEPALIVE.
    _set_option(wire, "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE", 5)
    _set_option(wire, "TCP_KEEPINTVL", 5)
    _set_option(wire, "TCP_KEEPCNT", 3)
    _set_option(wire, "TCP_USER_TIMEOUT", DEAD_HOST_S * 1000)


def _set_option(wire: socket.socket, option: str, value: int) -> None:
    """Set the TCP option with the name `option`, such as `TCP_NODELAY`, of the socket `wire` to `value`. Do nothing if
    the platform lacks it, as macOS lacks several."""
    number = getattr(socket, option, None)
    if number is not None:
        with contextlib.suppress(OSError):
            wire.setsockopt(socket.IPPROTO_TCP, number, value)
