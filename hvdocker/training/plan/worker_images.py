"""Decides which image the workers of a job run: the cluster's, or that image with the job's requirements added. Pure.

If neither a host nor the controller has the image with the requirements, a BuildLayer step builds it. The image is
shipped to the hosts that lack it, and their workers are replaced by the same stages as in `up`. A later `up` keeps
these workers, because a label names the cluster's image as the base of their image."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hvdocker import names
from hvdocker.cluster.plan.workers import worker_spec_with_image, worker_stages
from hvdocker.cluster.steps import CreateWorker
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.requirements import Requirements
from hvdocker.images.steps import BuildLayer, ShipImage
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.probe import docker_arch
from hvdocker.observe.state import ClusterState, ImageSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.scope_label import scope_label_of_cluster, up_command
from hvdocker.plan.plan import CONTROLLER, Plan, Step, plan_of


@dataclass(frozen=True)
class RequirementsLayer:
    """An image layer with the requirements of a job, on top of the cluster's image.

    `base` is the content hash of the cluster's image. `key` is a hash of the requirements and of `base`; the name of
    the image with the layer contains it."""

    requirements: Requirements
    base: str

    @property
    def key(self) -> str:
        return self.requirements.key(self.base)

    @property
    def image(self) -> str:
        return names.requirements_image(self.key)


def requirements_layer(
    inventory: Inventory, state: ClusterState, hosts: Sequence[str], requirements: Requirements
) -> RequirementsLayer:
    """Return the layer with `requirements` on top of the cluster's image. The content hash of that image is taken from
    the job's `hosts`.

    Raises HvdockerError if none of these hosts has the cluster's image, and HostUnfit if they have different builds of
    it."""
    contents = {name: seen.content for name in hosts if (seen := state.hosts[name].image)}
    if not contents:
        raise HvdockerError(
            f"the image {inventory.image} is on no host of this job",
            command=shlex.join(("docker", "image", "inspect", inventory.image)),
            fix=f"{up_command(scope_label_of_cluster(state))} brings it there",
        )
    if len(set(contents.values())) > 1:
        raise HostUnfit(
            f"the hosts have different builds of {inventory.image}",
            lines=[f"{name}: {content}" for name, content in contents.items()],
            fix=f"{up_command(scope_label_of_cluster(state))} brings them in line",
        )
    return RequirementsLayer(requirements, next(iter(contents.values())))


def all_run_layer(layer: RequirementsLayer, state: ClusterState, hosts: Sequence[str]) -> bool:
    """Return whether the workers of all these hosts run the same build of the layer's image, so that nothing has to be
    done.

    This is decided from labels and image ids of the observed workers, without contacting a host. False may also mean
    that it is not known."""
    workers = state.workers()
    return {workers[name].requirements_key for name in hosts} == {layer.key} and have_one_image_id(state, hosts)


def have_one_image_id(state: ClusterState, hosts: Sequence[str]) -> bool:
    """Return whether the workers of all these hosts have the same image id.

    If not, they may still run the same image, because engines may give one image different ids."""
    return len({state.workers()[name].image_id for name in hosts}) == 1


def plan_with_requirements(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    hosts: Sequence[str],
    layer: RequirementsLayer,
    seen: Mapping[str, ImageSeen],
    maker: Maker,
) -> Plan:
    """Return the plan that gives all `hosts` of the job (the head first) workers with the layer's image. `host_plans`
    has the host plans by host; `maker` (the owner and the version of hvdocker) goes into the labels of new workers.

    It builds the image if it does not exist yet, ships it to the hosts that lack it, and replaces the workers that run
    another image. `seen` has the layer's image by host, with the key CONTROLLER for the machine that hvdocker runs on;
    machines that lack the image are not in it."""
    workers = state.workers()
    source = _shipper(state, hosts, layer, seen)
    where = source or _builder(inventory, state, host_plans, hosts, layer)
    content = seen[where].content if source else None
    lacking = [name for name in hosts if name not in seen or seen[name].content != content]
    stale = [
        name
        for name in hosts
        if name in lacking or workers[name].requirements_key != layer.key or workers[name].image_id != seen[name].id
    ]
    size = seen[where].size_bytes if source else 0
    ship: list[Step] = [ShipImage(n, layer.image, where, size) for n in lacking if n != where]
    specs = {name: worker_spec_with_image(inventory, host_plans[name], maker, layer.image) for name in stale}
    reasons = dict.fromkeys(stale, "it lacks the requirements")
    return plan_of(
        "train",
        inventory.cluster,
        ("image", [] if source else [_build_step(state, where, layer)]),
        ("image", [] if inventory.is_local else ship),
        *worker_stages(inventory, state, host_plans, specs, reasons),
    )


def _shipper(
    state: ClusterState, hosts: Sequence[str], layer: RequirementsLayer, seen: Mapping[str, ImageSeen]
) -> str | None:
    """Return the host (or CONTROLLER) that ships the layer's image to the others. Return None if no machine has the
    image. `hosts` are the hosts of the job, the head first. `seen` has the layer's image by host, with the key
    CONTROLLER for the controller; machines that lack the image are not in it.

    A host whose worker runs the image is preferred, because this worker then need not be replaced."""
    workers = state.workers()
    running = [name for name in hosts if name in seen and workers[name].requirements_key == layer.key]
    return next(iter([*running, *(name for name in (CONTROLLER, *seen) if name in seen)]), None)


def _builder(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    hosts: Sequence[str],
    layer: RequirementsLayer,
) -> str:
    """Return where the layer's image is built: CONTROLLER if the controller can build it, else a host of the job.
    `hosts` are the hosts of the job, the head first; `host_plans` has the host plans by host.

    The controller can build the image if it has the base image, unless its CPU architecture is known to differ from
    the head's. If the controller cannot, the first host that has the base image builds it."""
    own, engine = state.controller_image, state.controller_engine
    arch = docker_arch(host_plans[hosts[0]].seen.engine.architecture)
    # None means that the controller's engine was not observed, which may be so even if it has the image.
    can_build_here = engine is None or docker_arch(engine.architecture) == arch
    if can_build_here and own and own.content == layer.base:
        return CONTROLLER
    return next(name for name in hosts if state.hosts[name].image)


def _build_step(state: ClusterState, where: str, layer: RequirementsLayer) -> BuildLayer:
    base = state.controller_image if where == CONTROLLER else state.hosts[where].image
    assert base is not None, "the builder has the base"
    return BuildLayer(where, layer.image, base.id, layer.base, layer.key, layer.requirements)


def plan_without_requirements(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    hosts: Sequence[str],
    contents: Mapping[str, str],
    maker: Maker,
) -> Plan:
    """Return the plan that gives the workers of a job without requirements the same image. `hosts` are the hosts of the
    job; `host_plans` has the host plans by host; `maker` (the owner and the version of hvdocker) goes into the labels
    of new workers.

    `contents` has, by host, a text that identifies the image which the worker runs. If all are equal, the plan is
    empty, even if that image has the requirements of an earlier job. Otherwise every worker with the requirements of
    an earlier job is replaced by a worker with the cluster's image. Raises HostUnfit if hosts run different builds
    of the cluster's image, or if a host whose worker is to be replaced lacks it."""
    if len(set(contents.values())) == 1:
        return plan_of("train", inventory.cluster)
    workers = state.workers()
    layered = [name for name in hosts if workers[name].requirements_key and not _runs_cluster_image(state, name)]
    bases = {name: workers[name].base_content if name in layered else contents[name] for name in hosts}
    offered = {seen.content if (seen := state.hosts[name].image) else None for name in layered}
    if len({*bases.values(), *offered}) > 1:
        raise HostUnfit(
            "the hosts run different builds of the image",
            lines=[f"{name}: {contents[name]}" for name in hosts],
            fix=f"{up_command(scope_label_of_cluster(state))} brings them in line",
        )
    specs = {name: worker_spec_with_image(inventory, host_plans[name], maker, inventory.image) for name in layered}
    reasons = dict.fromkeys(layered, "other workers lack its requirements")
    return plan_of("train", inventory.cluster, *worker_stages(inventory, state, host_plans, specs, reasons))


def _runs_cluster_image(state: ClusterState, name: str) -> bool:
    own = state.hosts[name].image
    return own is not None and own.id == state.workers()[name].image_id


def worker_image(inventory: Inventory, state: ClusterState, name: str, plan: Plan) -> str:
    """Return the name or id of the image that the worker of host `name` will run after `plan` was applied."""
    for step in plan.steps:
        if isinstance(step, CreateWorker) and step.host == name:
            return step.spec.image
    return inventory.image if _runs_cluster_image(state, name) else state.workers()[name].image_id
