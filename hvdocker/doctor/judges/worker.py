"""Whether the workers that run are those that `up` would make now."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.commands.worker import Maker, Place
from hvdocker.errors import HvdockerError
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import ClusterState
from hvdocker.plan.image import plan_image
from hvdocker.plan.up import why_new


def why_anew(
    inventory: Inventory, state: ClusterState, placed: Mapping[str, Place], maker: Maker
) -> dict[str, str]:
    """By host. Where it cannot be told which image is meant, nothing is said about workers: the image is."""
    workers = {name: worker for name, worker in state.workers().items() if name in placed}
    if not workers:
        return {}
    try:
        image = plan_image(inventory, state, placed)
    except HvdockerError:
        return {}
    found = {
        name: why_new(inventory, placed[name], maker, worker, image, None) for name, worker in workers.items()
    }
    return {name: reason for name, reason in found.items() if reason}
