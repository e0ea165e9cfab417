"""What `up` has to do: nothing where a host already runs the worker it should."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.commands.worker import Maker, Place, worker_spec
from hvdocker.errors import raise_together
from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import ClusterState, ContainerSeen
from hvdocker.plan.image import ImagePlan, plan_image
from hvdocker.plan.places import fitness_problems
from hvdocker.plan.steps import Plan, plan_of
from hvdocker.plan.workers import worker_of, worker_stages


def plan_up(
    inventory: Inventory,
    state: ClusterState,
    placed: Mapping[str, Place],
    maker: Maker,
    brought_public: str | None = None,
) -> Plan:
    """Pure. Raises where a host could not run its worker. `brought_public` is the user's own key."""
    raise_together("some hosts are not fit", fitness_problems(inventory, placed))
    image = plan_image(inventory, state, placed)
    specs = {name: worker_spec(inventory, place, maker) for name, place in placed.items()}
    workers = state.workers()
    found = {
        name: why_new(inventory, place, maker, workers.get(name), image, brought_public)
        for name, place in placed.items()
    }
    reasons = {name: reason for name, reason in found.items() if reason}
    return plan_of(
        "up",
        inventory.cluster,
        ("image", list(image.build)),
        ("image", list(image.ship)),
        *worker_stages(inventory, state, placed, specs, reasons),
    )


def why_new(
    inventory: Inventory,
    place: Place,
    maker: Maker,
    worker: ContainerSeen | None,
    image: ImagePlan,
    brought: str | None,
) -> str | None:
    """Why a worker has to be made, or None where the one there will do."""
    if worker is None:
        return "new"
    if not _runs(worker, place, image):
        return "the image changed"
    wanted = worker_of(inventory, place, maker, _image_of(inventory, worker, image))
    if worker.labels.get(names.LABEL_SPEC) != wanted.fingerprint():
        return "its settings changed"
    if worker.state not in ("running", "exited"):
        return f"it is {worker.state}"
    if brought is not None and worker.labels.get(names.LABEL_CLIENT_KEY) != brought:
        return "the client key changed"
    return None


def _image_of(inventory: Inventory, worker: ContainerSeen, image: ImagePlan) -> str:
    """The cluster's own, or the one that `train` put requirements on."""
    if worker.requirements and worker.base == image.content:
        return names.requirements_image(worker.requirements)
    return inventory.image


def _runs(worker: ContainerSeen, place: Place, image: ImagePlan) -> bool:
    """Ids name an image on its own engine only: a worker's is compared with those of its own host."""
    if image.content is None:
        return False
    if worker.requirements and worker.base == image.content:
        return True
    own = place.seen.image
    same = {image.image_id} | ({own.id} if own and own.content == image.content else set())
    return worker.image_id in same
