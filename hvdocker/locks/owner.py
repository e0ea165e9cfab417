"""Refuses to change clusters and jobs of other owners. The owner is a label of the containers. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState, ContainerSeen


def refuse_foreign_owner(inventory: Inventory, state: ClusterState, owner: str, is_forced: bool) -> None:
    """Raise HvdockerError if a worker of this cluster has another owner than `owner` (this user), unless `is_forced`.

    Two users may have clusters of the same name by accident, because the default cluster name is the folder name."""
    owners = {worker.labels.get(names.LABEL_OWNER, owner) for worker in state.workers().values()} - {owner}
    if owners and not is_forced:
        raise HvdockerError(
            f"the cluster {inventory.cluster} on these hosts belongs to {', '.join(sorted(owners))}",
            lines=[f"you are {owner}; the label {names.LABEL_OWNER} of its workers is another one"],
            fix="give yours another name with `cluster:`, or change theirs all the same with --force",
        )


def refuse_foreign_job(master: ContainerSeen, workers: Iterable[ContainerSeen], owner: str, is_forced: bool) -> None:
    """Raise HvdockerError if `owner` (this user) neither started the job nor owns one of its workers, unless
    `is_forced`.

    `master` and `workers` are the containers of the job."""
    owners = [container.labels.get(names.LABEL_OWNER, owner) for container in (master, *workers)]
    if owner not in owners and not is_forced:
        raise HvdockerError(f"the job {master.job} belongs to {owners[0]}", fix="stop it all the same with --force")
