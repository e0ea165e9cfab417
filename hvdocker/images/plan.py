"""Plans how the cluster's image gets onto every host: by sending, pulling or building it if it is missing. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.image_format import format_problem
from hvdocker.images.steps import BuildImage, PullImage, PushImage, ShipImage
from hvdocker.images.targets import from_command
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.probe import docker_arch
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen, ImageSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import CONTROLLER, Plan, Step, plan_of


@dataclass(frozen=True)
class ImagePlan:
    """The steps that bring the image to the hosts: first the steps of `build`, then those of `ship`.

    `image_id` is the image's id on the engine that it is taken from. `content` is a hash of the image that is
    equal on every engine. Both are None if no engine has the image yet."""

    build: tuple[Step, ...] = ()
    ship: tuple[Step, ...] = ()
    image_id: str | None = None
    content: str | None = None


def plan_image(inventory: Inventory, state: ClusterState, host_plans: Mapping[str, HostPlan]) -> ImagePlan:
    """Return the steps that bring the inventory's image to every host that lacks it. `host_plans` has the host plans by
    host, and `state` is the observed state, with the image on the controller.

    If no engine has the image, hosts pull it from the inventory's registry. Without a registry, the image is built if
    it is one of `names.OWN_IMAGES`; otherwise raise HvdockerError. Also raise HvdockerError if the image lacks the
    label of images made for hvdocker or was made for another version of its formats (`format_problem`), and HostUnfit
    if it is for another CPU architecture than the hosts have."""
    hosts = {name: place.seen for name, place in host_plans.items()}
    arch = docker_arch(next(iter(hosts.values())).engine.architecture)
    source = _find_source(state, hosts, arch)
    if source is None and inventory.registry:
        return ImagePlan(ship=tuple(PullImage(name, inventory.image, inventory.registry) for name in hosts))
    if source is None:
        return _plan_build(inventory, state, host_plans, arch)
    where, image = source
    _check_is_ours(inventory, image, arch, where)
    return ImagePlan(ship=_steps_to_deliver(inventory, hosts, source), image_id=image.id, content=image.content)


def runs_image(container: ContainerSeen, place: HostPlan, image: ImagePlan) -> bool:
    """Return whether the container runs the cluster's image `image`, possibly with a requirements layer on top. If not,
    the container has to be replaced. `place` is the plan of the container's host. The result is False if no engine has
    the image yet.

    One image can have different ids on two engines: a configuration digest on a classic engine, a manifest digest with
    containerd. So the container's image id may also be the id that the image has on this host."""
    if image.content is None:
        return False
    if container.requirements_key and container.base_content == image.content:
        return True
    own = place.seen.image
    same = {image.image_id} | ({own.id} if own and own.content == image.content else set())
    return container.image_id in same


def plan_push(inventory: Inventory, state: ClusterState) -> Plan:
    """Return the plan of `image push`: bring the inventory's image to every host that lacks it.

    The image need not be made for hvdocker. With a registry, the controller pushes the image and the hosts pull it.
    Raise HvdockerError if no engine has the image, or if the controller has to push it and does not have it for the CPU
    architecture of the hosts. Raise HostUnfit if the image is for another CPU architecture."""
    arch = docker_arch(next(iter(state.hosts.values())).engine.architecture)
    source = _find_source(state, state.hosts, arch)
    if source is None:
        raise _image_not_found(inventory, state)
    _check_architecture(inventory, source[1], arch, source[0])
    ship = _steps_to_deliver(inventory, state.hosts, source, needs_label=False)
    push = [PushImage(CONTROLLER, inventory.image, inventory.registry)] if inventory.registry and ship else []
    if push and source[0] != CONTROLLER:
        raise HvdockerError(
            f"the image {inventory.image} is on {source[0]}, but not on this machine to push it from",
            fix="build or load it here, or leave `registry:` out: hvdocker sends it from host to host",
        )
    return plan_of("image push", inventory.cluster, ("image", [*push]), ("image", list(ship)))


def _steps_to_deliver(
    inventory: Inventory, hosts: Mapping[str, HostSeen], source: tuple[str, ImageSeen], needs_label: bool = True
) -> tuple[Step, ...]:
    where, image = source
    lacking = [name for name, seen in hosts.items() if not _has_same_image(seen, image)]
    if inventory.is_local:
        # The workers of a local cluster share the engine that has the image.
        return ()
    if inventory.registry:
        return tuple(
            PullImage(name, inventory.image, inventory.registry, needs_label, image.content, where) for name in lacking
        )
    return tuple(ShipImage(name, inventory.image, where, image.size_bytes) for name in lacking)


def _find_source(state: ClusterState, hosts: Mapping[str, HostSeen], arch: str) -> tuple[str, ImageSeen] | None:
    """Return the place to take the image from (CONTROLLER or a host name) and the image there.
    `hosts` are the observed hosts by name; `state` has the controller's image.

    The controller is preferred if its image is for the architecture `arch` of the hosts, else the first host
    that has the image, else the controller despite another architecture. Returns None if no engine has the image."""
    own = state.controller_image
    if own and own.architecture == arch:
        return CONTROLLER, own
    for name, seen in hosts.items():
        if seen.image:
            return name, seen.image
    # Only the controller has the image, for the wrong architecture. The caller raises an error that says so.
    return (CONTROLLER, own) if own else None


def _has_same_image(seen: HostSeen, image: ImageSeen) -> bool:
    return seen.image is not None and seen.image.content == image.content


def _plan_build(inventory: Inventory, state: ClusterState, host_plans: Mapping[str, HostPlan], arch: str) -> ImagePlan:
    if inventory.image not in names.OWN_IMAGES:
        raise _image_not_found(inventory, state)
    engine = state.controller_engine
    can_build_here = engine is not None and docker_arch(engine.architecture) == arch
    builder = CONTROLLER if can_build_here or inventory.is_local else next(iter(host_plans))
    others = [] if inventory.is_local else [name for name in host_plans if name != builder]
    ship = tuple(ShipImage(name, inventory.image, builder) for name in others)
    return ImagePlan(build=(BuildImage(builder, inventory.image),), ship=ship)


def _image_not_found(inventory: Inventory, state: ClusterState) -> HvdockerError:
    return HvdockerError(
        f"the image {inventory.image} is on no host and not on this machine",
        command=shlex.join(("docker", "image", "inspect", inventory.image)),
        lines=[f"here: {state.controller_problem or 'no such image'}", f"{', '.join(state.hosts)}: no such image"],
        fix="docker pull or docker build it here or on one host; hvdocker loads it onto the others",
    )


def _check_is_ours(inventory: Inventory, image: ImageSeen, arch: str, where: str) -> None:
    _check_architecture(inventory, image, arch, where)
    if not image.is_ours:
        raise HvdockerError(
            f"the image {inventory.image} is not made for hvdocker (no label {names.LABEL_IMAGE})",
            fix=from_command(inventory.image),
        )
    if problem := format_problem(inventory.image, image.labels):
        raise problem


def _check_architecture(inventory: Inventory, image: ImageSeen, arch: str, where: str) -> None:
    if image.architecture != arch:
        raise HostUnfit(
            f"the image {inventory.image} on {where} is for {image.architecture}, the hosts are {arch}",
            fix="build or pull it for their architecture",
        )
