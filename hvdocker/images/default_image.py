"""Chooses the GPU image or the CPU image for a cluster whose inventory names no image."""

from __future__ import annotations

from dataclasses import replace

from hvdocker import names
from hvdocker.inventory.locate import Located
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
