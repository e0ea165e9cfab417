"""Finds out the image of a cluster: the image that `up --image` named, else the inventory's. Pure.

`up --image` writes the name into a label of the workers. So every verb, on any controller, finds the name there, and a
later `up` without the flag keeps the image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState, ContainerSeen


def image_of_cluster(inventory: Inventory, containers: Iterable[ContainerSeen]) -> str:
    """Return the name of the cluster's image. `containers` are the containers of the cluster.

    `--image` of this command has precedence over the label of a worker, and the label over the inventory."""
    return inventory.forced_image or _labelled(containers) or inventory.image


def with_image_of_workers(inventory: Inventory, state: ClusterState) -> Inventory:
    """Return the inventory with the image that an earlier `up --image` named, as the label of a worker in `state` says.

    Return the inventory unchanged if there is no such label, or if this command names an image with `--image`."""
    name = _labelled(seen for host in state.hosts.values() for seen in host.containers)
    if inventory.forced_image or not name:
        return inventory
    return replace(inventory, image=name, forced_image=name)


def _labelled(containers: Iterable[ContainerSeen]) -> str:
    labels = (seen.labels.get(names.LABEL_IMAGE_NAME, "") for seen in containers if seen.role == names.ROLE_WORKER)
    return next(filter(None, labels), "")
