"""Whether what a rank says still arrives: the kernel knows how often it had to send the same again.

sshd would find out too, by asking its client, but asks only while the session is silent: beneath a rank that
talks it notices nothing until the kernel gives up, a quarter of an hour later."""

import socket
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

NET = Path("/proc/net")
LOOK_S = 2.0
# The kernel sends again after 0.2, 0.4, 0.8 … s, and counts from nothing when an answer comes. A link that
# was away for 3 s is heard again after 6.
MANY = 3
GIVEN_UP_S = 10.0


class LinkWatch:
    """The TCP connection of the ssh session that this process runs in, if it runs in one."""

    def __init__(
        self, env: Mapping[str, str], net: Path = NET, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file, self._row = row_of(env.get("SSH_CONNECTION", ""))
        self._net = net
        self._clock = clock
        self._look_at = clock() + LOOK_S
        self._since: float | None = None
        self._most = 0
        self.is_dead = False

    def wait_ms(self) -> int | None:
        """How long a poll may wait before `tick` has something to do."""
        if not self._row or self.is_dead:
            return None
        return max(0, int((self._look_at - self._clock()) * 1000) + 1)

    def tick(self) -> None:
        """Look at the connection, if that is due."""
        now = self._clock()
        if not self._row or self.is_dead or now < self._look_at:
            return
        self._look_at = now + LOOK_S
        count = self._sent_again()
        if count < max(self._most, MANY):
            # An answer has come since.
            self._since = None
        elif self._since is None:
            self._since = now
        self._most = count
        self.is_dead = self._since is not None and now - self._since >= GIVEN_UP_S

    def _sent_again(self) -> int:
        """How often since the last answer: what was on its way, or, where packets do not even leave this host
        or nobody has room for them, the question whether that has changed. 0 too where nothing is found."""
        try:
            table = (self._net / self._file).read_bytes()
        except OSError:
            return 0
        begin = table.find(self._row)
        fields = table[begin:].split(b"\n", 1)[0].split() if begin >= 0 else []
        return max(int(fields[5], 16), int(fields[7])) if len(fields) > 7 else 0


def row_of(connection: str) -> tuple[str, bytes]:
    """The table of the kernel that has the connection, and how its row begins. `connection` is what sshd
    tells a session: the client's address and port, and the server's."""
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
    """As the kernel prints addresses: words of four bytes, each as a number of the machine."""
    return "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", packed))
