"""Finds the largest packet that gets through to a peer (the path MTU). It sends datagrams that must not be fragmented,
and the peer acknowledges each with a short datagram. If the peer sent back the whole datagram, a loss on the way back
would look like a loss on the way there. Ping and raw sockets would need capabilities that containers do not have.

If a router reports that a packet is too large, the kernel learns the path's MTU. If packets are lost without such a
report (a black hole), the kernel does not learn it, and connections hang."""

import errno
import fcntl
import socket
import struct
import time
from collections.abc import Iterable
from typing import Any

IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU = 10, 2, 14
SIOCGIFMTU = 0x8921
HEADERS = 28  # IPv4 and UDP
MIN_PACKET = 576  # every IPv4 host takes this
MAX_PACKET = 65535
SENDS, PAUSE_S = 3, 0.3
SIZES_PER_ROUND = 16


def link_mtu(interface: str) -> int:
    """Return the MTU that a network interface of this host, such as `eth0`, is set to. Raises OSError if there is no
    such interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16si12x", interface.encode()[:15], 0)
        return int(struct.unpack("16si12x", fcntl.ioctl(any_socket, SIOCGIFMTU, asked))[1])


def path_mtu(own: tuple[str, int], peer: tuple[str, int], token: str, timeout_s: float) -> dict[str, Any]:
    """Find the path MTU to a peer. `own` is the address to send from and the MTU of its interface. `peer` is the
    address and UDP port of the peer's `check listen`, `token` the text that `check listen` expects. The wait for a
    first acknowledgement takes about `timeout_s`. Returns {passed: the largest packet that arrived, told: the path MTU
    that the kernel believes}. If sending fails or no packet is acknowledged, returns {error: a message, number: the
    errno}. Values are `Any` because they are written as JSON."""
    address, link = own
    full = min(link, MAX_PACKET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        try:
            line.bind((address, 0))
            line.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
            line.connect(peer)
            passed = largest_packet(line, full, token.encode(), timeout_s)
        except OSError as error:
            return {"error": error.strerror or str(error), "number": error.errno}
        if passed is None:
            return {"error": f"no answer within {timeout_s:g} s", "number": errno.ETIMEDOUT}
        return {"passed": passed, "told": min(full, line.getsockopt(socket.IPPROTO_IP, IP_MTU))}


def largest_packet(line: socket.socket, full: int, token: bytes, timeout_s: float) -> int | None:
    """Return the size of the largest packet that the peer acknowledges, at most `full` bytes; None if it acknowledges
    none. Sizes include the IP and UDP headers. `line` is a UDP socket that is connected to the peer and does not
    fragment, `token` the text that the peer expects. The wait for a first acknowledgement takes about `timeout_s`. On a
    healthy network two datagrams are enough. Otherwise the sizes between MIN_PACKET and `full` are searched. Raises
    OSError if nothing can be sent."""
    first = acknowledged_sizes(line, {MIN_PACKET, full}, token)
    if not first:
        first = acknowledged_sizes(line, {MIN_PACKET}, token, max(SENDS, int(timeout_s / PAUSE_S) - SENDS))
    if not first or full in first:
        return max(first, default=None)
    low, high = max(first), full
    while high - low > 1:
        step = max(1, (high - low) // (SIZES_PER_ROUND + 1))
        sizes = set(range(low + step, high, step))
        got = acknowledged_sizes(line, sizes, token)
        low = max(got | {low})
        high = min({size for size in sizes if size > low and size not in got} | {high})
    return low


def acknowledged_sizes(line: socket.socket, sizes: Iterable[int], token: bytes, sendings: int = SENDS) -> set[int]:
    """Send a packet of each size in `sizes`, and return the sizes that the peer acknowledges. Each packet is sent up to
    `sendings` times, until it is acknowledged or the kernel says that it is too large. A late acknowledgement of an
    earlier packet adds the size of that packet to the result. `line` is a UDP socket that is connected to the peer,
    `token` the text that the peer expects."""
    missing, got = set(sizes), set[int]()
    for _ in range(sendings):
        missing -= {size for size in missing if not send_packet(line, size, token)} | got
        if not missing:
            break
        deadline = time.monotonic() + PAUSE_S
        while missing - got and (left := deadline - time.monotonic()) > 0:
            size = receive_acknowledgement(line, token, left)
            if size:
                got.add(size)
        missing -= got
    return got


def send_packet(line: socket.socket, size: int, token: bytes) -> bool:
    """Send a packet of `size` bytes, headers included, over `line`, a UDP socket that is connected to the peer. The
    packet begins with `token`, the text that the peer expects. Returns True if the kernel takes the packet, False if
    the kernel says that it is too large. Raises OSError for any other error.

    The first attempt may fail with the error of an earlier packet, which the kernel reports only once. So the packet is
    tried a second time, and an error of the second attempt belongs to this packet."""
    for _ in range(2):
        try:
            line.send((token + b" ").ljust(size - HEADERS, b"."))
        except OSError as error:
            if error.errno not in (errno.EMSGSIZE, errno.ECONNREFUSED):
                raise
            problem = error
        else:
            return True
    if problem.errno != errno.EMSGSIZE:
        raise problem
    return False


def receive_acknowledgement(line: socket.socket, token: bytes, timeout_s: float) -> int | None:
    """Wait for the next acknowledgement on the UDP socket `line`, and return the packet size that it names, headers
    included. None if none arrives within `timeout_s`, if it does not begin with `token`, or if the kernel reports that
    an earlier packet was too large. Raises OSError for any other error."""
    line.settimeout(timeout_s)
    try:
        words = line.recv(128).split()
    except TimeoutError:
        return None
    except OSError as error:
        if error.errno == errno.EMSGSIZE:
            return None
        raise
    if len(words) == 2 and words[0] == token and words[1].isdigit():
        return int(words[1]) + HEADERS
    return None
