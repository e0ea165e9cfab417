"""Whether the workers that run are those that `up` would make now."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.cluster.plan.up import why_new
from hvdocker.errors import HvdockerError
from hvdocker.images.plan import plan_image
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan


def why_replaced(
    inventory: Inventory, state: ClusterState, placed: Mapping[str, HostPlan], maker: Maker
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
