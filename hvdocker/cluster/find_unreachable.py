"""Finds out whether all hosts that do not answer belong to running elastic jobs, which go on without them.

Reads the addresses, keys and slots of these hosts from files in the masters of the jobs. Changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.cluster.unreachable_host import UnreachableHost, read_slots, read_unreachable
from hvdocker.errors import HostUnreachable, HvdockerError, raise_all
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.protocol.hosts_file import HOSTS_FILE

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink


def unreachable_hosts(
    links: Mapping[str, HostLink], state: ClusterState, failed: Mapping[str, HvdockerError]
) -> dict[str, UnreachableHost]:
    """Return, by host, what the masters of running elastic jobs know about the hosts in `failed`.

    `failed` has the errors of hosts by name. `up` uses the result to keep such hosts in their job. Raises all errors in
    `failed` if some host failed for another reason than being unreachable, or belongs to no running elastic job: only
    elastic jobs are known to run on without a host."""
    found: dict[str, UnreachableHost] = {}
    if all(isinstance(error, HostUnreachable) for error in failed.values()):
        found = _hosts_of_jobs(links, state, failed)
    if found.keys() != failed.keys():
        raise_all("some hosts cannot be used", list(failed.values()))
    return found


def _hosts_of_jobs(
    links: Mapping[str, HostLink], state: ClusterState, failed: Mapping[str, HvdockerError]
) -> dict[str, UnreachableHost]:
    found: dict[str, UnreachableHost] = {}
    for job in state.running_jobs():
        if failed and job.elastic:
            seen = ask_master(links[state.host_of(job)], job, failed)
            found |= {name: one.merged_with(found.get(name)) for name, one in seen.items()}
    return found


def ask_master(link: HostLink, master: ContainerSeen, wanted: Collection[str]) -> dict[str, UnreachableHost]:
    """Return, by host, what the files of a master say about the `wanted` hosts that belong to its job.

    `link` leads to the master's host. The hosts of the job are those in hosts.json in the master, which `up` writes. If
    there is no hosts.json, they are the hosts that the job started with. A host that is not in the master's SSH files
    is left out."""
    from hvdocker.engine import archive
    from hvdocker.transport.errors import translating_errors

    def read(path: str) -> str:
        return archive.read_text(link.engine(), master.name, f"{names.CONTAINER_FOLDER}/{path}") or ""

    with translating_errors(link.name, f"asking {master.name} about hosts that do not answer"):
        first = {share.host: share.slots for share in master.placement.shares}
        slots = read_slots(read(HOSTS_FILE)) or first
        missed = {name: slots[name] for name in wanted if name in slots}
        if not missed:
            return {}
        known = read_unreachable(master.job, read("ssh/config"), read("ssh/known_hosts"), missed)
        return {one.name: one for one in known}
