"""Changes the settings of a lab host's sshd, and forwards an IPv6 port to it."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.cluster.lab import LabHost

# The last file of its folder, because sshd uses the last value of MaxStartups. Other keywords set here occur
# only once.
SETTINGS_FILE = "/etc/ssh/sshd_config.d/zz-test.conf"
# The first file, for a keyword that the lab sets too: of most keywords sshd uses the first value.
FIRST_FILE = "/etc/ssh/sshd_config.d/00-test.conf"


@contextmanager
def sshd_settings(host: LabHost, *lines: str, file: str = SETTINGS_FILE) -> Iterator[None]:
    """Add lines to the configuration of the host's sshd for the duration of the block."""
    host.exec(["sh", "-c", 'printf "%s\\n" "$@" > ' + file, "sh", *lines])
    _restart(host)
    try:
        yield
    finally:
        host.exec(["rm", "-f", file])
        _restart(host)


def forwarding_denied(host: LabHost, rule: str = "AllowStreamLocalForwarding no") -> AbstractContextManager[None]:
    """Let the host's sshd deny channels to Unix sockets for the duration of the block."""
    return sshd_settings(host, rule, file=FIRST_FILE)


def _restart(host: LabHost) -> None:
    host.stop_sshd()
    host.start_sshd()


@contextmanager
def ipv6_forwarder(host: LabHost) -> Iterator[int]:
    """Forward a port of [::1] to the host's sshd, because the lab's network has only IPv4; yield the port."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        threading.Thread(target=_serve, args=(listener, host.address), daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, address: str) -> None:
    with contextlib.suppress(OSError):
        while True:
            visitor, _ = listener.accept()
            server = socket.create_connection((address, 22))
            for ends in ((visitor, server), (server, visitor)):
                threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
