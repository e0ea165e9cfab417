"""Chooses the image where the inventory names none."""

from __future__ import annotations

from dataclasses import replace

from hvdocker import names
from hvdocker.inventory.locate import Located
from hvdocker.transport.session import Session


def with_default_image(located: Located, session: Session) -> Located:
    """Return `located` with an image: the GPU image where any host has GPUs, else the CPU image.

    An image that the inventory names is kept, and then no host is asked. Workers of a local cluster get one
    GPU each or none: they use the GPU image only where the machine has at least as many GPUs as workers."""
    inventory = located.inventory
    if inventory.has_named_image or not session.links:
        return located
    from hvdocker.observe.hosts import count_gpus_on_hosts

    names_to_ask = list(session.links)[:1] if inventory.is_local else list(session.links)
    counts = count_gpus_on_hosts({name: session.links[name] for name in names_to_ask})
    least = len(inventory.hosts) if inventory.is_local else 1
    image = names.GPU_IMAGE if any(count >= least for count in counts.values()) else names.DEFAULT_IMAGE
    return replace(located, inventory=replace(inventory, image=image))
