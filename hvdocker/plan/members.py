"""Who is in the cluster, as its workers were last told: a host that leaves the inventory leaves no other
trace on those that stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hvdocker.commands.worker import Place
from hvdocker.model import names
from hvdocker.plan.steps import WriteMembers


def members_of(placed: Mapping[str, Place]) -> str:
    """One line; neither names nor addresses have blanks."""
    return " ".join(f"{place.name}={place.address}" for place in placed.values())


def is_outdated(placed: Mapping[str, Place], kept: Collection[str]) -> bool:
    """Whether a worker that stays trusts others than those of the cluster. Where nothing is written, as by
    earlier versions, nothing is known."""
    return any(placed[name].seen.members not in ("", members_of(placed)) for name in kept)


def writing(placed: Mapping[str, Place]) -> list[WriteMembers]:
    return [WriteMembers(place.name, place.folder, members_of(placed)) for place in placed.values()]


def departed(cluster: str, placed: Mapping[str, Place], kept: Collection[str]) -> list[str]:
    """Notes on hosts that nobody can reach any more without their entry in the inventory."""
    known = (word.partition("=")[0] for name in kept for word in placed[name].seen.members.split())
    return [
        f"{name} is in the cluster no more, and trusted no more; what is on it stays. To clean it, put it "
        f"back into the inventory and run hvdocker down; or there: "
        f"docker rm -f {names.worker_name(cluster)}; rm -r ~/.hvdocker/{cluster}"
        for name in dict.fromkeys(known)
        if name not in placed
    ]
