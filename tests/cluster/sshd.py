"""Other settings for a lab host's sshd, and other ways to its port."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.lab import LabHost

# Last of its folder: of MaxStartups sshd takes the last word, of what else is set here there is only one.
SETTINGS = "/etc/ssh/sshd_config.d/zz-test.conf"


@contextmanager
def sshd_settings(host: LabHost, *lines: str) -> Iterator[None]:
    """For the length of a test, on top of the lab's own."""
    host.exec(["sh", "-c", 'printf "%s\\n" "$@" > ' + SETTINGS, "sh", *lines])
    _restart(host)
    try:
        yield
    finally:
        host.exec(["rm", "-f", SETTINGS])
        _restart(host)


def _restart(host: LabHost) -> None:
    host.stop_sshd()
    host.start_sshd()


@contextmanager
def ipv6_door(host: LabHost) -> Iterator[int]:
    """A port of [::1] behind which the host's sshd is: the lab's network has only IPv4."""
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
                threading.Thread(target=_pump, args=ends, daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
