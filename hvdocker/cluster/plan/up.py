"""Plans `up` and `keys rotate`. A host that already runs the right worker needs no step. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hvdocker import names
from hvdocker.cluster.plan.fitness import fitness_problems
from hvdocker.cluster.plan.join import JoinPlan, plan_joins
from hvdocker.cluster.plan.members import NONE_UNREACHABLE, notes_on_removed_hosts, notes_on_unreachable_hosts
from hvdocker.cluster.plan.workers import refuse_to_hurt_jobs, worker_spec_with_image, worker_stages
from hvdocker.cluster.steps import RemoveContainer
from hvdocker.cluster.unreachable_host import UnreachableHost
from hvdocker.errors import HvdockerError, raise_all
from hvdocker.images.plan import ImagePlan, plan_image, runs_image
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import Plan, plan_of
from hvdocker.units import pluralize


def plan_up(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    maker: Maker,
    user_key: str | None = None,
    unreachable: Mapping[str, UnreachableHost] = NONE_UNREACHABLE,
) -> Plan:
    """Return the plan of `up`. `host_plans` has the host plans by host.

    `maker` has the owner and version for the labels of new workers. `user_key` is the public half of the user's
    own key, None if hvdocker makes the key. `unreachable` are hosts that do not answer and belong to running elastic
    jobs. Raises HvdockerError if a host cannot run its worker, or if the worker of a running job would be replaced or
    removed."""
    return _plan("up", inventory, state, host_plans, maker, user_key, unreachable=unreachable)


def plan_rotation(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    maker: Maker,
    user_key: str | None = None,
) -> Plan:
    """Return the plan of `keys rotate`: an `up` that replaces every worker.

    New keys need new workers, because public keys are in the labels of workers, and labels cannot change. `up` sees the
    keys in the labels, so it can finish an interrupted rotation. `host_plans` has the host plans by host, `maker` the
    owner and version for the labels of new workers. `user_key` is the public half of the user's own key, None if
    hvdocker makes the key. Raises HvdockerError as `plan_up` does, and if the cluster has no worker."""
    if not state.workers():
        raise HvdockerError(
            f"the cluster {inventory.cluster} is not up: no worker was found on {', '.join(host_plans)}",
            fix="hvdocker up makes new keys",
        )
    return _plan("keys rotate", inventory, state, host_plans, maker, user_key, "the keys are rotated")


def _plan(
    verb: str,
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    maker: Maker,
    user_key: str | None,
    rotation_reason: str | None = None,
    unreachable: Mapping[str, UnreachableHost] = NONE_UNREACHABLE,
) -> Plan:
    """Return the plan of the verb `verb`: `up` or `keys rotate`.

    `rotation_reason` is the reason given for replacing workers that need no change: `keys rotate` replaces them too. It
    is None for `up`, which keeps them. `host_plans` has the host plans by host, `maker` the owner and version for the
    labels of new workers. `user_key` is the public half of the user's own key, None if hvdocker makes the key.
    `unreachable` are hosts that do not answer and belong to running elastic jobs."""
    raise_all("some hosts are not fit", fitness_problems(inventory, host_plans))
    image = plan_image(inventory, state, host_plans)
    workers = state.workers()
    found = {
        name: why_worker_needed(inventory, place, maker, workers.get(name), image, user_key)
        for name, place in host_plans.items()
    }
    kept = [name for name, reason in found.items() if reason is None]
    images = {name: _image_of_worker(inventory, workers[name], image) for name in kept}
    specs = {
        name: worker_spec_with_image(inventory, p, maker, images.get(name, inventory.image))
        for name, p in host_plans.items()
    }
    found |= dict.fromkeys(kept, rotation_reason or why_keys_differ([workers[name] for name in kept]))
    reasons = {name: reason for name, reason in found.items() if reason}
    new = JoinPlan({}) if rotation_reason else plan_joins(state, host_plans, reasons, image)
    plan = plan_of(
        verb,
        inventory.cluster,
        ("image", list(image.build)),
        ("image", list(image.ship)),
        ("containers", list(_steps_to_remove_surplus(state, host_plans))),
        *worker_stages(inventory, state, host_plans, specs, reasons, new.joins, unreachable),
    )
    stay = [name for name in host_plans if name not in reasons]
    gone = notes_on_removed_hosts(inventory, host_plans, stay)
    greedy = [] if workers or maker.run else note_on_all_gpus(host_plans)
    return replace(plan, notes=(*notes_on_unreachable_hosts(unreachable), *new.notes, *gone, *greedy))


def note_on_all_gpus(host_plans: Mapping[str, HostPlan]) -> list[str]:
    """Return a list with one note, if a new cluster takes every free GPU of its hosts and has at least two.

    The list is empty if the cluster has fewer GPUs, or if the user asked for some slots. `host_plans` has the host
    plans by host."""
    count = sum(len(place.devices) for place in host_plans.values())
    if count < 2 or any(place.request_label for place in host_plans.values()):
        return []
    hosts = pluralize(sum(bool(place.devices) for place in host_plans.values()), "host")
    fewer = min(4, count // 2)
    return [
        f"takes all {count} GPUs that are free on {hosts}, until hvdocker down; "
        f"to leave some to others, take fewer: hvdocker up -np {fewer}"
    ]


def _steps_to_remove_surplus(state: ClusterState, host_plans: Mapping[str, HostPlan]) -> Iterator[RemoveContainer]:
    """Yield steps that remove workers on hosts that no longer belong to the cluster: hosts that `host_plans` lacks.

    These steps come before the creation of new workers, which may get the GPUs of the removed workers. Raises
    HvdockerError if a running job uses a worker that would be removed."""
    surplus = {name: worker for name, worker in state.workers().items() if name not in host_plans}
    refuse_to_hurt_jobs(state, [name for name, worker in surplus.items() if worker.is_living])
    for name, worker in surplus.items():
        yield RemoveContainer(name, worker.name, worker.id, "no slot of it is wanted any more")


def why_keys_differ(workers: Sequence[ContainerSeen]) -> str | None:
    """Return a reason to replace all `workers` if they have different client keys, else None.

    An interrupted `keys rotate` leaves workers with different keys. All of them are replaced, because it is unknown
    which key is newer: the clocks of the hosts may differ."""
    keys = {worker.labels.get(names.LABEL_CLIENT_KEY) for worker in workers}
    return "a rotation of keys was cut off" if len(keys) > 1 else None


def why_worker_needed(
    inventory: Inventory,
    place: HostPlan,
    maker: Maker,
    worker: ContainerSeen | None,
    image: ImagePlan,
    user_key: str | None,
) -> str | None:
    """Return why the host's worker has to be created or replaced, None if the existing worker can stay.

    `place` is the host's plan, and `worker` the existing worker, if any. `maker` has the owner and version for the
    labels; a worker with another owner or version can stay. `image` is the plan for the cluster's image. `user_key` is
    the public half of the user's own key, if any."""
    if worker is None:
        return "new"
    if not runs_image(worker, place, image):
        return "the image changed"
    wanted = worker_spec_with_image(inventory, place, maker, _image_of_worker(inventory, worker, image))
    if worker.labels.get(names.LABEL_SPEC) != wanted.fingerprint():
        return "its settings changed"
    if worker.state not in ("running", "exited"):
        return f"it is {worker.state}"
    if user_key is not None and worker.labels.get(names.LABEL_CLIENT_KEY) != user_key:
        return "the client key changed"
    return None


def _image_of_worker(inventory: Inventory, worker: ContainerSeen, image: ImagePlan) -> str:
    """Return the image that the existing worker should have: mostly the cluster's image.

    For a worker with Python requirements it is the worker's own image, if `train` built that from the cluster's current
    image. So `up` does not replace such a worker."""
    if worker.requirements_key and worker.base_content == image.content:
        return names.requirements_image(worker.requirements_key)
    return inventory.image
