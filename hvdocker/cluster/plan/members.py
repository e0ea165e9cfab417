"""The members of a cluster, and the file `members` on each host: the hosts that its worker trusts. Pure.

The file lies beside the code, and the probe reads it. A host that is removed from the inventory leaves no
other trace on the hosts that stay. If the file differs from the inventory, workers and masters are
updated."""

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
    inventory: Inventory, placed: Mapping[str, HostPlan], unreachable: Mapping[str, UnreachableHost]
) -> tuple[ClusterMember, ...]:
    """Return all members in the inventory's order, unreachable hosts included, since they may come back."""
    found = {name: ClusterMember(name, place.address, user_name(place.uid)) for name, place in placed.items()}
    found |= {name: one.member for name, one in unreachable.items()}
    return tuple(found[host.name] for host in inventory.hosts if host.name in found)


def is_outdated(members: Sequence[ClusterMember], placed: Mapping[str, HostPlan], kept: Collection[str]) -> bool:
    """Return whether a worker that stays (`kept`) trusts other hosts than the members.

    Clusters of earlier versions have no members file: they do not count as outdated."""
    return any(placed[name].seen.members_line not in ("", _members_line(members)) for name in kept)


def steps_to_write_members(members: Sequence[ClusterMember], placed: Mapping[str, HostPlan]) -> list[WriteMembers]:
    return [WriteMembers(place.name, place.folder, _members_line(members)) for place in placed.values()]


def _members_line(members: Sequence[ClusterMember]) -> str:
    """Return the content of the members file. Names and addresses contain no blanks."""
    return " ".join(f"{member.name}={member.address}" for member in members)


def notes_on_removed_hosts(
    cluster: str,
    placed: Mapping[str, HostPlan],
    kept: Collection[str],
    unreachable: Mapping[str, UnreachableHost] = NONE_UNREACHABLE,
) -> list[str]:
    """Return notes on hosts that were removed from the inventory, so that hvdocker cannot clean them."""
    known = (word.partition("=")[0] for name in kept for word in placed[name].seen.members_line.split())
    return [
        f"{name} is in the cluster no more, and trusted no more; what is on it stays. To clean it, put it "
        f"back into the inventory and run hvdocker down; or there: "
        f"docker rm -f {names.worker_name(cluster)}; rm -r ~/.hvdocker/{cluster}"
        for name in dict.fromkeys(known)
        if name not in placed and name not in unreachable
    ]


def notes_on_unreachable_hosts(unreachable: Mapping[str, UnreachableHost]) -> list[str]:
    """Return notes on hosts that do not answer, and on the jobs that run on without them."""
    return [
        f"{name} does not answer, and is left as it is: {', '.join(one.slots)} goes on without it until it is back"
        for name, one in unreachable.items()
    ]
