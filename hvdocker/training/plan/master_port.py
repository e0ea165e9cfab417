"""Chooses the ports of a job: a block of TCP ports that are free on all its hosts. Pure.

The first port is that of rank 0; ranks get it as the variable MASTER_PORT. Each host uses one of the other ports for
each of its ranks. A label of the master records the block, so that other jobs do not choose these ports before the
ranks have opened them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.observe.state import ContainerSeen
from hvdocker.protocol.job_file import MASTER_PORT
from hvdocker.protocol.placement import Placement

# Linux gives ports from 32768 to 60999 to outgoing connections by default: a block there might be taken at any time.
_RANGES = (range(MASTER_PORT, 32768), range(20000, MASTER_PORT), range(61000, 65536))


def port_count(placement: Placement) -> int:
    """Return how many ports a job needs: one for rank 0 (MASTER_PORT), and one for each slot of the host with the most
    slots. All hosts use the same port numbers."""
    return 1 + max(share.slots for share in placement.shares)


def choose_master_port(count: int, taken: Collection[int]) -> int:
    """Return the first port of a block of `count` ports that are not in `taken`. Raise HvdockerError if there is no
    such block."""
    for ports in _RANGES:
        free = 0
        for port in ports:
            free = 0 if port in taken else free + 1
            if free == count:
                return port - count + 1
    raise HvdockerError(f"no {count} neighbouring TCP ports are free on all hosts of the job", command="ss -tln")


def ports_label(first: int, count: int) -> str:
    return f"{first}:{count}"


def ports_of_living_jobs(containers: Iterable[ContainerSeen]) -> frozenset[int]:
    """Return the ports that jobs have reserved: those in the labels of the living masters among `containers`. A damaged
    label counts as no port."""
    found: set[int] = set()
    for seen in containers:
        first, _, count = seen.labels.get(names.LABEL_MASTER_PORT, "").partition(":")
        if seen.is_living and first.isdecimal() and count.isdecimal() and int(count) < 65536:
            found |= {*range(int(first), int(first) + int(count))}
    return frozenset(found)
