"""Finds the network interface that has a given IP address. It asks the kernel over netlink, because the older ioctl
reports neither secondary addresses nor IPv6 addresses."""

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator

RTM_NEWADDR, RTM_GETADDR = 20, 22
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
IFA_ADDRESS, IFA_LOCAL = 1, 2
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
IFADDR = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, interface index
ATTRIBUTE = struct.Struct("=HH")  # length, type


def interface_of(address: str) -> str | None:
    """Return the name of the interface that has the IP address, such as `eth0`; None if no interface has it. Raises
    ValueError if `address` is not an IP address, OSError if the kernel reports an error."""
    wanted = ipaddress.ip_address(address.split("%")[0]).packed
    for index, packed in addresses():
        if packed == wanted:
            return socket.if_indextoname(index)
    return None


def addresses() -> Iterator[tuple[int, bytes]]:
    """Yield the (interface index, address in binary form) of every IP address in this network namespace. Raises
    OSError if the kernel reports an error."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.bind((0, 0))
        body = IFADDR.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        length = HEADER.size + len(body)
        link.send(HEADER.pack(length, RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body)
        while True:
            for kind, payload in messages(link.recv(1 << 18)):
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    number = -struct.unpack_from("=i", payload)[0]
                    raise OSError(number, os.strerror(number))
                if kind == RTM_NEWADDR:
                    yield parse_address(payload)


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the (type, payload) of each netlink message in `data`, one datagram from the kernel."""
    while len(data) >= HEADER.size:
        length, kind, _flags, _sequence, _port = HEADER.unpack_from(data)
        yield kind, data[HEADER.size : length]
        data = data[aligned(length) :]


def parse_address(payload: bytes) -> tuple[int, bytes]:
    """Return the interface index and the local address (in binary form) in `payload`, the content of one RTM_NEWADDR
    message of netlink. The address is empty if the message has none."""
    index: int = IFADDR.unpack_from(payload)[4]
    found = {}
    data = payload[IFADDR.size :]
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        found[kind] = data[ATTRIBUTE.size : length]
        data = data[max(aligned(length), ATTRIBUTE.size) :]
    # On a point-to-point link IFA_ADDRESS is the peer; IPv6 has no IFA_LOCAL.
    return index, found.get(IFA_LOCAL, found.get(IFA_ADDRESS, b""))


def aligned(length: int) -> int:
    """Return `length` rounded up to a multiple of four, because netlink pads messages and attributes to four
    bytes."""
    return (length + 3) & ~3
