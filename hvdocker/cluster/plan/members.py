"""The members of a cluster (the hosts whose workers may log in to each other), and the file `members` that lists them.
Pure.

Each host has the file in its cluster folder. An observation of the host reads it. If it differs from the current
members, `up` updates the SSH files of workers and masters. Only this file shows that another host was removed from the
inventory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from hvdocker import names
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.steps import WriteMembers
from hvdocker.cluster.unreachable_host import UnreachableHost
from hvdocker.engine.file_spec import user_name
from hvdocker.inventory.inventory import Inventory
from hvdocker.placement.host_plan import HostPlan

NONE_UNREACHABLE: Mapping[str, UnreachableHost] = MappingProxyType({})


def all_members(
    inventory: Inventory, host_plans: Mapping[str, HostPlan], unreachable: Mapping[str, UnreachableHost]
) -> tuple[ClusterMember, ...]:
    """Return all members of the cluster in the inventory's order: the hosts in `host_plans`, and the `unreachable`
    hosts.

    Unreachable hosts stay members, since they may come back."""
    found = {name: ClusterMember(name, place.address, user_name(place.uid)) for name, place in host_plans.items()}
    found |= {name: one.member for name, one in unreachable.items()}
    return tuple(found[host.name] for host in inventory.hosts if host.name in found)


def is_outdated(members: Sequence[ClusterMember], host_plans: Mapping[str, HostPlan], kept: Collection[str]) -> bool:
    """Return whether the members file of some `kept` host differs from `members`. The worker of a kept host is not
    replaced.

    `host_plans` has the host plans, with the members files that were observed. A host without the file, from an earlier
    version of hvdocker, does not count as outdated."""
    return any(host_plans[name].seen.members_line not in ("", members_line(members)) for name in kept)


def steps_to_write_members(
    members: Sequence[ClusterMember], host_plans: Mapping[str, HostPlan], new: Collection[str]
) -> list[WriteMembers]:
    """Return the steps that write the members file on the hosts in `host_plans`, except on `new` hosts.

    A new host has no worker yet. Its members file is written by the step that makes its folders."""
    line = members_line(members)
    return [WriteMembers(name, place.folder, line) for name, place in host_plans.items() if name not in new]


def members_line(members: Sequence[ClusterMember]) -> str:
    """Return the content of the members file: `name=address` of each member, separated by blanks."""
    return " ".join(f"{member.name}={member.address}" for member in members)


def notes_on_removed_hosts(
    inventory: Inventory, host_plans: Mapping[str, HostPlan], kept: Collection[str]
) -> list[str]:
    """Return one note for each host that was removed from the inventory, with commands that clean the host.

    hvdocker itself cannot clean it, because only the inventory says how to reach a host. A host counts as removed if
    the inventory does not name it, but the members file of a `kept` host (whose worker is not replaced) does.
    `host_plans` has the host plans by host."""
    cluster, listed = inventory.cluster, {host.name for host in inventory.hosts}
    known = (word.partition("=")[0] for name in kept for word in host_plans[name].seen.members_line.split())
    return [
        f"{name} is in the cluster no more, and trusted no more; what is on it stays. To clean it, put it "
        f"back into the inventory and run hvdocker down; or there: "
        f"docker rm -f {names.worker_name(cluster)}; rm -r {names.host_dir('~', cluster, name)}"
        for name in dict.fromkeys(known)
        if name not in listed
    ]


def notes_on_unreachable_hosts(unreachable: Mapping[str, UnreachableHost]) -> list[str]:
    """Return notes for the user on the `unreachable` hosts, which do not answer, and on the jobs that run on without
    these hosts."""
    return [
        f"{name} does not answer, and is left as it is: {', '.join(one.slots)} goes on without it until it is back"
        for name, one in unreachable.items()
    ]
