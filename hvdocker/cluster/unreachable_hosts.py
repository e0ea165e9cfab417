"""Hosts that do not answer, and that an elastic job goes on without: so does whoever works on the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hvdocker.cluster.unreachable import UnreachableHost
from hvdocker.errors import HostUnreachable, HvdockerError, raise_all
from hvdocker.observe.state import ClusterState

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink


def unreachable_hosts(
    links: Mapping[str, HostLink], state: ClusterState, failed: Mapping[str, HvdockerError]
) -> dict[str, UnreachableHost]:
    """What is known of the hosts that failed. Raises all of it unless each of them just does not answer, and
    is a running elastic job's: else nobody can tell whether it matters."""
    found: dict[str, UnreachableHost] = {}
    if all(isinstance(error, HostUnreachable) for error in failed.values()):
        found = _of_jobs(links, state, failed)
    if found.keys() != failed.keys():
        raise_all("some hosts cannot be used", list(failed.values()))
    return found


def _of_jobs(
    links: Mapping[str, HostLink], state: ClusterState, failed: Mapping[str, HvdockerError]
) -> dict[str, UnreachableHost]:
    from hvdocker.cluster.unreachable_query import ask_master

    found: dict[str, UnreachableHost] = {}
    for job in state.running_jobs():
        if failed and job.elastic:
            seen = ask_master(links[state.host_of(job)], job, failed)
            found |= {name: one.also(found.get(name)) for name, one in seen.items()}
    return found
