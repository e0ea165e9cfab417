"""Names the host in the prefix of a rank's line where it is not the one that the job's placement says: in a
job that was run again elsewhere, or grew, a number alone would mislead."""

import re
from collections.abc import Callable, Sequence

from inside.protocol.job import JobHost

START = re.compile(rb"((?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?\[(\d+))(\]<std(?:out|err)>:)")
# Two processes answer to the number.
UNSURE = "?"


class HostPrefix:
    """Applied to whatever begins a line of the launcher's output."""

    def __init__(self, seats: Sequence[JobHost], host_of: Callable[[int], str | None]) -> None:
        self._usual = [seat.name for seat in seats for _ in range(seat.slots)]
        self._host_of = host_of

    def __call__(self, piece: bytes) -> bytes:
        found = START.match(piece)
        if not found:
            return piece
        rank = int(found[2])
        host = self._host_of(rank) or UNSURE
        if rank < len(self._usual) and self._usual[rank] == host:
            return piece
        return b"%s@%s%s%s" % (found[1], host.encode(), found[3], piece[found.end() :])
