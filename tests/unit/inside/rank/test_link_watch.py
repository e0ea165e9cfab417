"""Whether what a rank says still arrives, by what the kernel tells of its connection."""

import socket
from pathlib import Path

import pytest
from inside.rank.link_watch import DEAD_AFTER_S, POLL_S, LinkWatch, tcp_table_row

CONNECTION = "198.18.0.11 33354 198.18.0.12 12345"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
OTHER = "   0: 0C0012C6:3039 0B0012C6:824B 01 00000000:00000000 02:000004D2 00000007  1000        0 4711 2 0\n"
OURS = "   1: 0C0012C6:3039 0B0012C6:824A 01 0000018C:00000000 01:00000123 {:08X}  1000        {} 4712 2 0\n"


class Kernel:
    """A table of connections in which ours was sent again so often, and the time."""

    def __init__(self, net: Path) -> None:
        self.net = net
        self.now = 100.0
        self.uplink = LinkWatch({"SSH_CONNECTION": CONNECTION}, net, lambda: self.now)

    def looks(self, *counts: int, asked: int = 0) -> list[bool]:
        """Whether it counts as dead after each look."""
        found = []
        for count in counts:
            (self.net / "tcp").write_text(HEAD + OTHER + OURS.format(count, asked))
            self.now += POLL_S
            assert self.uplink.wait_ms() in (None, 1)
            self.uplink.tick()
            found.append(self.uplink.is_dead)
        return found


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_what_is_never_answered_is_dead_after_a_while(kernel: Kernel) -> None:
    looks = kernel.looks(0, 2, 4, 5, 5, 6, 6, 6, 7)
    assert looks == [False] * 7 + [True] * 2
    assert 5 * POLL_S == DEAD_AFTER_S and kernel.uplink.wait_ms() is None


def test_what_does_not_even_leave_the_host_is_dead_too(kernel: Kernel) -> None:
    assert kernel.looks(*[0] * 6, asked=4) == [False] * 5 + [True]


def test_an_answer_begins_the_count_again(kernel: Kernel) -> None:
    assert not any(kernel.looks(3, 4, 5, 5, 0, 3, 4, 5, 5, 4, 5, 5, 6, 6))


def test_a_link_that_loses_much_is_no_dead_one(kernel: Kernel) -> None:
    assert not any(kernel.looks(*[1, 2] * 20))


def test_between_looks_nothing_is_read(kernel: Kernel) -> None:
    kernel.looks(7)
    kernel.now += POLL_S / 2
    (kernel.net / "tcp").unlink()
    kernel.uplink.tick()
    assert kernel.uplink.wait_ms() == POLL_S / 2 * 1000 + 1 and not kernel.uplink.is_dead


def test_a_connection_that_is_not_found_is_not_dead(kernel: Kernel) -> None:
    for text in ("", HEAD + OTHER, "   1: 0C0012C6:3039 0B0012C6:824A 01"):
        (kernel.net / "tcp").write_text(text)
        kernel.now += DEAD_AFTER_S
        kernel.uplink.tick()
        assert not kernel.uplink.is_dead


@pytest.mark.parametrize("connection", ["", "one two", "a 1 b 2", "198.18.0.11 x 198.18.0.12 y"])
def test_outside_of_a_login_nothing_is_looked_at(connection: str, tmp_path: Path) -> None:
    uplink = LinkWatch({"SSH_CONNECTION": connection}, tmp_path / "nowhere", lambda: 0.0)
    uplink.tick()
    assert (uplink.wait_ms(), uplink.is_dead) == (None, False)


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_this_kernel_tells_of_connections_as_expected(family: socket.AddressFamily, address: str) -> None:
    with socket.create_server((address, 0), family=family) as server:
        client = socket.create_connection(server.getsockname()[:2])
        with client, server.accept()[0]:
            ends = (*client.getsockname()[:2], *server.getsockname()[:2])
            table, row = tcp_table_row(" ".join(map(str, ends)))
            text = Path("/proc/net", table).read_bytes()
    fields = text[text.index(row) :].split(b"\n", 1)[0].split()
    assert fields[2] == b"01" and int(fields[5], 16) == 0
