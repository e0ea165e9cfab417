"""Notices that a rank's output does not reach the launcher any more, by the kernel's count of retransmissions.

If the network is cut, the rank gets no hang-up. sshd probes its client only while the session is silent. While a rank
writes output, sshd notices nothing until the kernel gives up, a quarter of an hour later. Regular messages from the
supervisor would also show whether the connection works, but a launcher may have no channel for them."""

import socket
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PROC_NET = Path("/proc/net")
POLL_S = 2.0
# The kernel retransmits after 0.2, 0.4, 0.8 … s, and resets its count when an answer arrives. A link that was
# down for 3 s is back after 6 s.
MIN_RETRANSMITS = 3
DEAD_AFTER_S = 10.0


class LinkWatch:
    """Watches the TCP connection of the ssh session in which this process runs, and sets `is_dead`. `env` is the
    environment of this process, in which sshd names the connection (SSH_CONNECTION). A process outside of an ssh
    session has nothing to watch, so `is_dead` stays False. `net` is the folder /proc/net; `clock` returns the time in
    seconds."""

    def __init__(
        self, env: Mapping[str, str], net: Path = PROC_NET, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file, self._row = tcp_table_row(env.get("SSH_CONNECTION", ""))
        self._net = net
        self._clock = clock
        self._look_at = clock() + POLL_S
        self._since: float | None = None
        self._most = 0
        self.is_dead = False

    def wait_ms(self) -> int | None:
        """Return how many milliseconds a poll may wait before `tick` has to be called; None if there is nothing to
        watch, or if the connection is dead already."""
        if not self._row or self.is_dead:
            return None
        return max(0, int((self._look_at - self._clock()) * 1000) + 1)

    def tick(self) -> None:
        """Look at the connection, unless the last look was less than POLL_S ago. Set `is_dead` if the kernel has been
        retransmitting for DEAD_AFTER_S without an answer of the peer."""
        now = self._clock()
        if not self._row or self.is_dead or now < self._look_at:
            return
        self._look_at = now + POLL_S
        count = self._sent_again()
        if count < max(self._most, MIN_RETRANSMITS):
            # The count has fallen or is small: an answer has arrived since.
            self._since = None
        elif self._since is None:
            self._since = now
        self._most = count
        self.is_dead = self._since is not None and now - self._since >= DEAD_AFTER_S

    def _sent_again(self) -> int:
        """Return how often the kernel has retransmitted since the last answer of the peer. Zero-window probes count
        too: the kernel sends them if the peer has no room, or if packets do not leave this host. Return 0 if the
        connection is not found."""
        try:
            table = (self._net / self._file).read_bytes()
        except OSError:
            return 0
        begin = table.find(self._row)
        fields = table[begin:].split(b"\n", 1)[0].split() if begin >= 0 else []
        return max(int(fields[5], 16), int(fields[7])) if len(fields) > 7 else 0


def tcp_table_row(connection: str) -> tuple[str, bytes]:
    """Return the file in /proc/net that lists the connection (`tcp` or `tcp6`), and the two addresses as its row
    shows them. `connection` is sshd's SSH_CONNECTION: address and port of the client, then of the server. Both
    results are empty if `connection` cannot be parsed."""
    words = connection.split()
    if len(words) != 4:
        return "", b""
    try:
        ends = [(_packed(words[at]), int(words[at + 1])) for at in (2, 0)]
    except (OSError, ValueError):
        return "", b""
    row = " ".join(f"{_hexadecimal(address)}:{port:04X}" for address, port in ends)
    return ("tcp6" if len(ends[0][0]) == 16 else "tcp"), f" {row} ".encode()


def _packed(address: str) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address.partition("%")[0])


def _hexadecimal(packed: bytes) -> str:
    """Return an address (`packed` is its binary form) as the kernel prints it in /proc/net: words of four bytes, each
    as a number in host byte order."""
    return "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", packed))
