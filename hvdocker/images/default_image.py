"""Finds the image of a cluster if the inventory does not decide it. If the inventory names no image, that is the GPU
image or the CPU image. After an earlier `up --image`, it is the image that this command named."""

from __future__ import annotations

from dataclasses import replace

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.observe.cluster_image import image_of_cluster, with_image_of_workers
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session


def with_default_image(located: Located, session: Session) -> Located:
    """Return `located` with an image: the GPU image if any host has GPUs, else the CPU image.

    `session` has the links over which the hosts are asked for their GPUs. If the inventory names an image, or no host
    was reached, `located` is returned unchanged and no host is asked. All workers of a local cluster run
    on one machine: they use the GPU image only if this machine has at least one GPU for each worker."""
    inventory = located.inventory
    if inventory.has_named_image or not session.links:
        return located
    from hvdocker.observe.hosts import count_gpus_on_hosts

    names_to_ask = list(session.links)[:1] if inventory.is_local else list(session.links)
    counts = count_gpus_on_hosts({name: session.links[name] for name in names_to_ask})
    least = len(inventory.hosts) if inventory.is_local else 1
    image = names.GPU_IMAGE if any(count >= least for count in counts.values()) else names.DEFAULT_IMAGE
    return replace(located, inventory=replace(inventory, image=image))


def with_forced_image(inventory: Inventory, state: ClusterState) -> tuple[Inventory, ClusterState]:
    """Return the inventory and the state for the image that an earlier `up --image` named. Both are unchanged if no
    worker in `state` has such an image, or if the present command names an image.

    Otherwise the returned inventory names that image, and the returned state has the controller's copy of it. Only
    hosts whose workers have the image were asked for it. Any other host counts as a host without the image; sending it
    there again takes only the layers that the host lacks."""
    found = with_image_of_workers(inventory, state)
    if found.image == inventory.image:
        return found, state
    from hvdocker.observe.hosts import cluster_state

    hosts = {
        name: seen if image_of_cluster(inventory, seen.containers) == found.image else replace(seen, image=None)
        for name, seen in state.hosts.items()
    }
    return found, cluster_state(found, hosts, with_images=True)
