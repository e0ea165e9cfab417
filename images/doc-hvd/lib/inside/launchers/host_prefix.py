"""Adds the host to the prefix of a rank's line (`[1@c]<stdout>:`) if the rank is not on the host that the
job's placement says. After a restart on other hosts, or in a job that grew, the number alone would mislead.
Pure."""

import re
from collections.abc import Callable, Sequence

from inside.protocol.job import JobHost

RANK_PREFIX = re.compile(rb"((?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?\[(\d+))(\]<std(?:out|err)>:)")
# Shown where the host is not known, for example because two processes have this number.
UNKNOWN_HOST = "?"


class HostPrefix:
    """Rewrites the start of a line of the launcher's output. `host_of` returns the host of a rank, or
    None."""

    def __init__(self, job_hosts: Sequence[JobHost], host_of: Callable[[int], str | None]) -> None:
        self._usual = [job_host.name for job_host in job_hosts for _ in range(job_host.slots)]
        self._host_of = host_of

    def __call__(self, piece: bytes) -> bytes:
        found = RANK_PREFIX.match(piece)
        if not found:
            return piece
        rank = int(found[2])
        host = self._host_of(rank) or UNKNOWN_HOST
        if rank < len(self._usual) and self._usual[rank] == host:
            return piece
        return b"%s@%s%s%s" % (found[1], host.encode(), found[3], piece[found.end() :])
