"""`check listen`: opens three TCP ports and one UDP port on the training address of this host. `check pairs` and `check
bandwidth` on other hosts connect to these ports. Only clients that send the token are served; the token is a text that
the controller gives to both sides. The command does not wait for clients: it leaves a background process, which serves
the ports until its time is over or it is killed."""

import json
import os
import random
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from inside.checks.check import banner_error
from inside.checks.path_mtu import link_mtu
from inside.runtime.interfaces import interface_of

# The kernel chooses the first port, as most libraries do; the other two are anywhere in the range, as for NCCL.
RANDOM_PORTS = 2
RANDOM_PORT_RANGE = (20000, 60000)
TRIES = 50
MAX_LINE_BYTES = 128
IDLE_S = 10.0
SSHD_WAIT_S = 10.0


class OpenSockets(NamedTuple):
    """The listening TCP sockets and the UDP socket of `check listen`."""

    tcp: list[socket.socket]
    udp: socket.socket


def main(text: str) -> int:
    """Run `check listen`; always return 0. `text` is JSON: {address: the address to listen on, token: the text that
    clients have to send, seconds: how long to serve, sshd: the port of the worker's sshd on this host, or null to leave
    out the sshd}.

    Prints JSON: {tcp: three ports, udp: a port, interface, mtu, pid: the background process, sshd}, or {error} if the
    ports cannot be opened. The printed `sshd` is null if the worker's sshd sent its banner or was left out. Otherwise
    it is the reason why no banner came."""
    order: Mapping[str, Any] = json.loads(text)  # Any: JSON
    address = order["address"]
    try:
        sockets = open_sockets(address)
    except OSError as error:
        print(json.dumps({"error": f"cannot listen on {address}: {error.strerror or error}"}))
        return 0
    description = describe_sockets(address, sockets)
    pid = os.fork()
    if pid == 0:
        detach()
        serve(sockets, order["token"], order["seconds"])
        os._exit(0)
    sshd = own_sshd_error(address, order["sshd"]) if order.get("sshd") else None
    print(json.dumps({**description, "pid": pid, "sshd": sshd}))
    return 0


def open_sockets(address: str) -> OpenSockets:
    """Open three TCP ports and one UDP port on `address`, an IPv4 address of this host. Other hosts connect to them, so
    that the verb `doctor` learns whether a firewall blocks ports. The kernel chooses the UDP port and one TCP port; the
    other two TCP ports are random. Raises OSError if a port cannot be opened."""
    tcp = [listen_on(address, 0), *(listen_on_random_port(address) for _ in range(RANDOM_PORTS))]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 0))
    return OpenSockets(tcp, udp)


def listen_on_random_port(address: str) -> socket.socket:
    """Return a socket that listens at `address`, on a random free port in RANDOM_PORT_RANGE. After TRIES ports that
    could not be opened, the kernel chooses the port. Raises OSError if that fails too."""
    for _ in range(TRIES):
        with suppress(OSError):
            return listen_on(address, random.randint(*RANDOM_PORT_RANGE))
    return listen_on(address, 0)


def listen_on(address: str, port: int) -> socket.socket:
    """Return a socket that listens on `port` of `address`. For port 0 the kernel chooses a free port. SO_REUSEADDR is
    not set, so a port that was in use a moment ago does not count as free. Raises OSError, for example if the port is
    in use."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.bind((address, port))
        made.listen(256)
    except OSError:
        made.close()
        raise
    return made


def describe_sockets(address: str, sockets: OpenSockets) -> dict[str, Any]:
    """Return {tcp, udp, interface, mtu}, a part of the JSON that `check listen` prints: the port numbers of the open
    `sockets`, the name of the interface that has `address`, and the MTU of this interface. `interface` and `mtu` are
    None if no interface has the address. Values are `Any` because they are written as JSON."""
    interface = interface_of(address)
    return {
        "tcp": [listener.getsockname()[1] for listener in sockets.tcp],
        "udp": sockets.udp.getsockname()[1],
        "interface": interface,
        "mtu": link_mtu(interface) if interface else None,
    }


def own_sshd_error(address: str, port: int) -> str | None:
    """Wait up to SSHD_WAIT_S until the sshd of this host's worker sends its banner at address:port. Return None if it
    does, else the reason why not. The wait is needed because peers log in as soon as they know the ports, and the sshd
    may still be starting."""
    deadline = time.monotonic() + SSHD_WAIT_S
    while (error := banner_error(address, port, 2.0)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return error


def detach() -> None:
    """Detach the background process of `check listen` from its caller: start a new session, and replace the standard
    streams by /dev/null. The caller waits until these streams are closed, so the background process must not keep
    them."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def serve(sockets: OpenSockets, token: str, seconds: float) -> None:
    """Serve all ports of `sockets`, each in its own thread, and return after `seconds`. Clients that do not send
    `token` are not served."""
    for listener in sockets.tcp:
        threading.Thread(target=accept_connections, args=(listener, token.encode()), daemon=True).start()
    threading.Thread(target=acknowledge_datagrams, args=(sockets.udp, token.encode()), daemon=True).start()
    time.sleep(seconds)


def accept_connections(listener: socket.socket, token: bytes) -> None:
    """Accept connections on the socket `listener` without end, and serve each in its own thread. `token` is the text
    that a client has to send first."""
    while True:
        with suppress(OSError):
            connection, _ = listener.accept()
            threading.Thread(target=serve_connection, args=(connection, token), daemon=True).start()


def serve_connection(connection: socket.socket, token: bytes) -> None:
    """Serve one `connection` as its first line asks. The first line is `TOKEN echo` or `TOKEN sink SECONDS`, where
    TOKEN is `token`. For `echo`, send back all bytes that follow. For `sink`, count the bytes that arrive within
    SECONDS and send back the count. After any other first line, close the connection."""
    with connection, suppress(OSError, ValueError):
        connection.settimeout(IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        words = read_line(connection).split()
        if words[:1] != [token]:
            return
        if words[1:2] == [b"echo"]:
            while data := connection.recv(1 << 16):
                connection.sendall(data)
        elif words[1:2] == [b"sink"] and len(words) == 3:
            count_received(connection, float(words[2]))


def read_line(connection: socket.socket) -> bytes:
    """Read one line from `connection`, byte by byte, so that the bytes after it stay in the socket for the next
    reader. The line is returned unfinished if the connection ends or MAX_LINE_BYTES are reached."""
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return line


def count_received(connection: socket.socket, seconds: float) -> None:
    """Count the bytes that arrive on `connection`, and send the result back as a JSON line {bytes, seconds}, with the
    time that was measured. Counting begins with the first bytes. It ends after `seconds`, or when the client sends no
    more. Bytes that arrive after that are read and discarded."""
    buffer = bytearray(1 << 20)
    count, began = connection.recv_into(buffer), time.monotonic()
    spent = 0.0
    while spent < seconds and (size := connection.recv_into(buffer)):
        count, spent = count + size, time.monotonic() - began
    connection.sendall(json.dumps({"bytes": count, "seconds": max(spent, 1e-6)}).encode() + b"\n")
    connection.settimeout(1.0)
    while connection.recv_into(buffer):
        pass


def acknowledge_datagrams(udp: socket.socket, token: bytes) -> None:
    """Answer datagrams on the UDP socket `udp`, without end. A datagram that starts with `token` is answered with the
    text `TOKEN SIZE`, where SIZE is the number of bytes received. Other datagrams are ignored. The answer is always
    short, so the result depends only on the path to this host, not on the path back."""
    while True:
        with suppress(OSError):
            data, sender = udp.recvfrom(1 << 16)
            if data.startswith(token + b" "):
                udp.sendto(b"%b %d" % (token, len(data)), sender)
