"""Observes on which TCP ports processes of hosts listen."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.observe.probe import listeners, listening_ports, read_probe
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import for_each_host

LISTENERS_TIMEOUT_S = 30.0


def see_listening_ports(links: Mapping[str, HostLink]) -> frozenset[int]:
    """Return the ports on which a process of any of the hosts in `links` listens. Raises HvdockerError if a host does
    not answer.

    The usual observation of a running cluster does not read the ports, because the kernel takes time to list them."""

    def look(name: str) -> frozenset[int]:
        with translating_errors(name, "looking at its ports"):
            return listening_ports(read_probe(links[name].run(listeners(), timeout_s=LISTENERS_TIMEOUT_S).text))

    found = for_each_host(links, look).or_raise("some hosts do not answer")
    return frozenset[int]().union(*found.values())
