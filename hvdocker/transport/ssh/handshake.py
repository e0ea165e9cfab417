"""The SSH handshake: which algorithms are offered, and how long it may take.

The handshake has its own time limit, because a busy host may accept a TCP connection at once and answer much later. If
a handshake takes too long, paramiko ends it without an error. This file raises HandshakeTimeout instead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import paramiko

from hvdocker.transport.ssh.channel_close import ClosingTransport
from hvdocker.transport.ssh.connect_errors import HandshakeTimeout
from hvdocker.transport.ssh.keepalive import MonitoredSocket

# Private names of paramiko, which `_Transport` reorders; a unit test checks that they exist.
PREFERENCES_PRIVATE_NAMES = ("_preferred_ciphers", "_preferred_kex")

_OFFERED: Any = paramiko.Transport  # Any: the stubs lack its preferences


class _Transport(ClosingTransport):
    """A paramiko transport that prefers the fast algorithms (aes128-gcm, curve25519). Everything else that paramiko
    offers stays available after them."""

    _preferred_ciphers = tuple(sorted(_OFFERED._preferred_ciphers, key=lambda name: not name.startswith("aes128-gcm")))
    _preferred_kex = tuple(sorted(_OFFERED._preferred_kex, key=lambda name: not name.startswith("curve25519")))

    def __init__(self, sock: Any, **settings: Any) -> None:
        """Wrap `sock` in `monitored_socket`, from which `keepalive` reads when data was last received. The
        arguments are `Any` because paramiko calls this method with its own values."""
        self.monitored_socket = MonitoredSocket(sock)
        monitored: Any = self.monitored_socket  # Any: a socket in all but type
        super().__init__(monitored, **settings)

    def start_client(self, event: threading.Event | None = None, timeout: float | None = None) -> None:
        """Do the handshake. Raise HandshakeTimeout if it is not finished after `timeout` seconds. The parameters are
        those of paramiko's method: if `event` is given, return at once, and paramiko sets it at the end of the
        handshake."""
        if timeout is not None:
            # Paramiko has two shorter limits, for the first line of the server and for the key exchange. When
            # they run out, it says that the server closed the connection, which is not true.
            self.banner_timeout = self.handshake_timeout = 2 * timeout
        super().start_client(event, timeout)
        if event is None and not self.initial_kex_done:
            raise HandshakeTimeout("handshake", timeout or 0)


def transport_factory(known: frozenset[str]) -> Callable[..., paramiko.Transport]:
    """Return a function with which paramiko creates its transports. They prefer the host key types in `known`, such as
    `ssh-ed25519`, so that the host shows a key that known_hosts has."""

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
