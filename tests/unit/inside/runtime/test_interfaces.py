"""The kernel's answer about addresses, taken apart."""

import socket
import struct

from inside.runtime.interfaces import (
    HEADER,
    IFA_ADDRESS,
    IFA_LOCAL,
    IFADDR,
    RTM_NEWADDR,
    messages,
    parse_address,
)


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def test_ipv4_gives_the_local_address_not_the_peer() -> None:
    payload = IFADDR.pack(socket.AF_INET, 24, 0, 0, 7)
    payload += attribute(IFA_ADDRESS, bytes([198, 18, 0, 1])) + attribute(IFA_LOCAL, bytes([198, 18, 0, 2]))
    payload += attribute(3, b"net9\0")
    assert parse_address(payload) == (7, bytes([198, 18, 0, 2]))


def test_ipv6_has_only_the_address() -> None:
    packed = socket.inet_pton(socket.AF_INET6, "2001:db8::1")
    payload = IFADDR.pack(socket.AF_INET6, 64, 0, 0, 3) + attribute(IFA_ADDRESS, packed)
    assert parse_address(payload) == (3, packed)


def test_messages_are_padded_to_four_bytes() -> None:
    first = HEADER.pack(HEADER.size + 5, RTM_NEWADDR, 0, 1, 0) + b"abcde" + b"\0" * 3
    second = HEADER.pack(HEADER.size, 3, 0, 1, 0)
    assert list(messages(first + second)) == [(RTM_NEWADDR, b"abcde"), (3, b"")]
