"""Which image a cluster has: the one that `up --image` named, else the inventory's. Pure.

`up --image` writes the name into a label of the workers. So every verb, on any controller, finds it there, and a later
`up` without the flag keeps the image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState, ContainerSeen


def image_of_cluster(inventory: Inventory, containers: Iterable[ContainerSeen]) -> str:
    """Return the name of the cluster's image. `containers` are those of the cluster."""
    return inventory.forced_image or _labelled(containers) or inventory.image


def with_image_of_workers(inventory: Inventory, state: ClusterState) -> Inventory:
    """Return the inventory with the image that an earlier `up --image` named, if the label of a worker in `state` has
    it, and if this `up` names none. Otherwise return the inventory unchanged."""
    name = _labelled(seen for host in state.hosts.values() for seen in host.containers)
    if inventory.forced_image or not name:
        return inventory
    return replace(inventory, image=name, forced_image=name)


def _labelled(containers: Iterable[ContainerSeen]) -> str:
    labels = (seen.labels.get(names.LABEL_IMAGE_NAME, "") for seen in containers if seen.role == names.ROLE_WORKER)
    return next(filter(None, labels), "")
