"""Who is in the cluster, as its workers were last told: a host that leaves the inventory leaves no other
trace on those that stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from hvdocker import names
from hvdocker.cluster.containers.ssh_files import Member
from hvdocker.cluster.steps import WriteMembers
from hvdocker.cluster.unreachable import Absent
from hvdocker.engine.file_spec import user_name
from hvdocker.inventory.inventory import Inventory
from hvdocker.placement.host_plan import Place

NOBODY: Mapping[str, Absent] = MappingProxyType({})


def everybody(
    inventory: Inventory, placed: Mapping[str, Place], absent: Mapping[str, Absent]
) -> tuple[Member, ...]:
    """In the inventory's order; those too that do not answer now, and may come back."""
    found = {name: Member(name, place.address, user_name(place.uid)) for name, place in placed.items()}
    found |= {name: one.member for name, one in absent.items()}
    return tuple(found[host.name] for host in inventory.hosts if host.name in found)


def is_outdated(members: Sequence[Member], placed: Mapping[str, Place], kept: Collection[str]) -> bool:
    """Whether a worker that stays trusts others than those of the cluster. Where nothing is written, as by
    earlier versions, nothing is known."""
    return any(placed[name].seen.members not in ("", _line(members)) for name in kept)


def writing(members: Sequence[Member], placed: Mapping[str, Place]) -> list[WriteMembers]:
    return [WriteMembers(place.name, place.folder, _line(members)) for place in placed.values()]


def _line(members: Sequence[Member]) -> str:
    """Neither names nor addresses have blanks."""
    return " ".join(f"{member.name}={member.address}" for member in members)


def departed(
    cluster: str, placed: Mapping[str, Place], kept: Collection[str], absent: Mapping[str, Absent] = NOBODY
) -> list[str]:
    """Notes on hosts that nobody can reach any more without their entry in the inventory."""
    known = (word.partition("=")[0] for name in kept for word in placed[name].seen.members.split())
    return [
        f"{name} is in the cluster no more, and trusted no more; what is on it stays. To clean it, put it "
        f"back into the inventory and run hvdocker down; or there: "
        f"docker rm -f {names.worker_name(cluster)}; rm -r ~/.hvdocker/{cluster}"
        for name in dict.fromkeys(known)
        if name not in placed and name not in absent
    ]


def missed(absent: Mapping[str, Absent]) -> list[str]:
    """Notes on hosts that do not answer."""
    return [
        f"{name} does not answer, and is left as it is: {', '.join(one.slots)} goes on without it until it "
        "is back"
        for name, one in absent.items()
    ]
