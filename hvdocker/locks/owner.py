"""Refuse to change clusters and jobs of other owners, as their containers' owner labels name them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState, ContainerSeen


def refuse_foreign_owner(inventory: Inventory, state: ClusterState, owner: str, is_forced: bool) -> None:
    """Raise if workers of this cluster belong to another owner, unless `is_forced`.

    The default cluster name is the folder name, so two users may have clusters of the same name."""
    owners = {worker.labels.get(names.LABEL_OWNER, owner) for worker in state.workers().values()} - {owner}
    if owners and not is_forced:
        raise HvdockerError(
            f"the cluster {inventory.cluster} on these hosts belongs to {', '.join(sorted(owners))}",
            fix="give yours another name with `cluster:`, or change theirs all the same with --force",
        )


def refuse_foreign_job(master: ContainerSeen, workers: Iterable[ContainerSeen], owner: str, is_forced: bool) -> None:
    """Raise unless `owner` started the job or owns a worker that it runs on, or `is_forced`."""
    owners = [container.labels.get(names.LABEL_OWNER, owner) for container in (master, *workers)]
    if owner not in owners and not is_forced:
        raise HvdockerError(f"the job {master.job} belongs to {owners[0]}", fix="stop it all the same with --force")
