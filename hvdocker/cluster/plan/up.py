"""What `up` has to do: nothing where a host already runs the worker it should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hvdocker import names
from hvdocker.cluster.plan.fitness import fitness_problems
from hvdocker.cluster.plan.join import Newcomers, newcomers
from hvdocker.cluster.plan.members import NOBODY, notes_on_removed_hosts, notes_on_unreachable_hosts
from hvdocker.cluster.plan.workers import spare_running_jobs, worker_of, worker_stages
from hvdocker.cluster.steps import RemoveContainer
from hvdocker.cluster.unreachable import UnreachableHost
from hvdocker.errors import HvdockerError, raise_all
from hvdocker.images.plan import ImagePlan, plan_image, runs
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import Plan, plan_of


def plan_up(
    inventory: Inventory,
    state: ClusterState,
    placed: Mapping[str, HostPlan],
    maker: Maker,
    brought_public: str | None = None,
    absent: Mapping[str, UnreachableHost] = NOBODY,
) -> Plan:
    """Pure. Raises where a host could not run its worker. `brought_public` is the user's own key; `absent`
    are hosts of running jobs that do not answer."""
    return _plan("up", inventory, state, placed, maker, brought_public, absent=absent)


def plan_rotation(
    inventory: Inventory,
    state: ClusterState,
    placed: Mapping[str, HostPlan],
    maker: Maker,
    brought_public: str | None = None,
) -> Plan:
    """An `up` that keeps no worker: keys live in workers, and their public halves in labels, which never
    change. So new workers are the way to new keys, and a rotation that is cut off can be mended by `up`."""
    if not state.workers():
        raise HvdockerError(
            f"the cluster {inventory.cluster} is not up: no worker was found on {', '.join(placed)}",
            fix="hvdocker up makes new keys",
        )
    return _plan("keys rotate", inventory, state, placed, maker, brought_public, "the keys are rotated")


def _plan(
    verb: str,
    inventory: Inventory,
    state: ClusterState,
    placed: Mapping[str, HostPlan],
    maker: Maker,
    brought_public: str | None,
    otherwise: str | None = None,
    absent: Mapping[str, UnreachableHost] = NOBODY,
) -> Plan:
    """`otherwise` is why workers that would do are replaced all the same."""
    raise_all("some hosts are not fit", fitness_problems(inventory, placed))
    image = plan_image(inventory, state, placed)
    workers = state.workers()
    found = {
        name: why_new(inventory, place, maker, workers.get(name), image, brought_public)
        for name, place in placed.items()
    }
    kept = [name for name, reason in found.items() if reason is None]
    images = {name: _image_of(inventory, workers[name], image) for name in kept}
    specs = {
        name: worker_of(inventory, p, maker, images.get(name, inventory.image)) for name, p in placed.items()
    }
    found |= dict.fromkeys(kept, otherwise or _discord([workers[name] for name in kept]))
    reasons = {name: reason for name, reason in found.items() if reason}
    new = Newcomers({}) if otherwise else newcomers(state, placed, reasons, image)
    plan = plan_of(
        verb,
        inventory.cluster,
        ("image", list(image.build)),
        ("image", list(image.ship)),
        ("containers", list(_surplus(state, placed))),
        *worker_stages(inventory, state, placed, specs, reasons, new.joins, absent),
    )
    stay = [name for name in placed if name not in reasons]
    gone = notes_on_removed_hosts(inventory.cluster, placed, stay, absent)
    return replace(plan, notes=(*notes_on_unreachable_hosts(absent), *new.notes, *gone))


def _surplus(state: ClusterState, placed: Mapping[str, HostPlan]) -> Iterator[RemoveContainer]:
    """Workers on hosts that are no part of the cluster any more. They go first: another worker may be given
    their GPUs."""
    surplus = {name: worker for name, worker in state.workers().items() if name not in placed}
    spare_running_jobs(state, [name for name, worker in surplus.items() if worker.is_living])
    for name, worker in surplus.items():
        yield RemoveContainer(name, worker.name, worker.id, "no slot of it is wanted any more")


def _discord(workers: Sequence[ContainerSeen]) -> str | None:
    """Workers that do not share a client key were left by a rotation that was cut off. Which of the keys is
    the old one, clocks of several hosts cannot tell for sure: none is kept."""
    keys = {worker.labels.get(names.LABEL_CLIENT_KEY) for worker in workers}
    return "a rotation of keys was cut off" if len(keys) > 1 else None


def why_new(
    inventory: Inventory,
    place: HostPlan,
    maker: Maker,
    worker: ContainerSeen | None,
    image: ImagePlan,
    brought: str | None,
) -> str | None:
    """Why a worker has to be made, or None where the one there will do."""
    if worker is None:
        return "new"
    if not runs(worker, place, image):
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
