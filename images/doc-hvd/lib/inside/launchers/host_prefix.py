"""Adds the host to the header of a rank's output line: `[1]<stdout>:` becomes `[1@c]<stdout>:`. This is done if the
rank is not on the host that the job's placement names for it, or if the placement names none. Then the rank number
alone would mislead. It happens after a restart on other hosts, in an elastic job that grew, and for ranks that waited
for a free slot. Pure."""

from collections.abc import Callable, Sequence

from hvdocker.protocol.job_file import JobHost
from hvdocker.protocol.line_header import RANK_LINE, with_host

# Shown if the host is not known, for example because two processes have this number.
UNKNOWN_HOST = "?"


class HostPrefix:
    """A callable that gets the start of an output line, and returns what to write in its place. It adds the host to the
    header of a line (`?` if the host is not known) if the job's placement names another host for the rank, or none.
    Lines without a header, or with a host in it, are returned unchanged. `job_hosts` is the placement: the hosts of the
    job in the order of their ranks. `host_of` returns the host on which a rank runs now, or None if unknown."""

    def __init__(self, job_hosts: Sequence[JobHost], host_of: Callable[[int], str | None]) -> None:
        self._usual = [job_host.name for job_host in job_hosts for _ in range(job_host.slots)]
        self._host_of = host_of

    def __call__(self, piece: bytes) -> bytes:
        found = RANK_LINE.match(piece)
        if not found or found[3] is not None:
            return piece
        rank = int(found[2])
        host = self._host_of(rank) or UNKNOWN_HOST
        if rank < len(self._usual) and self._usual[rank] == host:
            return piece
        return with_host(piece, host)
