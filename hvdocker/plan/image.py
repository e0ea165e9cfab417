"""How the cluster's image gets onto every host: already there, loaded from somewhere, or built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.commands.probe import docker_arch
from hvdocker.commands.worker import Place
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import ClusterState, ImageSeen
from hvdocker.model.units import show_bytes
from hvdocker.plan.steps import CONTROLLER, BuildImage, ShipImage, Step

# A load needs the archive's layers and their unpacked files for a moment.
_ROOM = 2.2


@dataclass(frozen=True)
class ImagePlan:
    build: tuple[Step, ...] = ()
    ship: tuple[Step, ...] = ()
    image_id: str | None = None
    content: str | None = None


def plan_image(inventory: Inventory, state: ClusterState, placed: Mapping[str, Place]) -> ImagePlan:
    arch = docker_arch(next(iter(placed.values())).seen.engine.architecture)
    source = _source(state, placed, arch)
    if source is None:
        return _build(inventory, state, placed, arch)
    where, image = source
    _refuse_foreign(inventory, image, arch, where)
    lacking = [name for name, place in placed.items() if not _has(place, image)]
    _refuse_full_disks(placed, lacking, image)
    steps = tuple(ShipImage(name, inventory.image, where, image.size_bytes) for name in lacking)
    return ImagePlan(ship=_once_per_engine(steps, inventory), image_id=image.id, content=image.content)


def _source(state: ClusterState, placed: Mapping[str, Place], arch: str) -> tuple[str, ImageSeen] | None:
    """This machine's image counts first, if the hosts could run it; then the first host's."""
    own = state.controller_image
    if own and own.architecture == arch:
        return CONTROLLER, own
    for name, place in placed.items():
        if place.seen.image:
            return name, place.seen.image
    # Of the wrong architecture, and the only one: the refusal names it.
    return (CONTROLLER, own) if own else None


def _has(place: Place, image: ImageSeen) -> bool:
    return place.seen.image is not None and place.seen.image.content == image.content


def _build(inventory: Inventory, state: ClusterState, placed: Mapping[str, Place], arch: str) -> ImagePlan:
    if inventory.image not in names.OWN_IMAGES:
        raise HvdockerError(
            f"the image {inventory.image} is on no host and not on this machine",
            command=f"docker image inspect {inventory.image}",
            fix="docker pull or docker build it here or on one host; hvdocker loads it onto the others",
        )
    engine = state.controller_engine
    can_build_here = engine is not None and docker_arch(engine.architecture) == arch
    builder = CONTROLLER if can_build_here or inventory.is_local else next(iter(placed))
    ship = tuple(ShipImage(name, inventory.image, builder) for name in placed if name != builder)
    return ImagePlan(build=(BuildImage(builder, inventory.image),), ship=_once_per_engine(ship, inventory))


def _once_per_engine(steps: tuple[Step, ...], inventory: Inventory) -> tuple[Step, ...]:
    """Hosts of a local cluster share the engine that has or builds the image."""
    return () if inventory.is_local else steps


def _refuse_foreign(inventory: Inventory, image: ImageSeen, arch: str, where: str) -> None:
    if image.architecture != arch:
        raise HostUnfit(
            f"the image {inventory.image} on {where} is for {image.architecture}, the hosts are {arch}",
            fix="build or pull it for their architecture",
        )
    if not image.is_ours:
        raise HvdockerError(
            f"the image {inventory.image} is not made for hvdocker (no label {names.LABEL_IMAGE})",
            fix="build yours FROM doc-hvd:base or doc-hvd:cpu: they carry sshd and the rank wrapper",
        )


def _refuse_full_disks(placed: Mapping[str, Place], lacking: list[str], image: ImageSeen) -> None:
    from hvdocker.errors import raise_together

    errors: list[HvdockerError] = []
    for name in lacking:
        free = placed[name].seen.free_bytes
        if free is not None and free < image.size_bytes * _ROOM:
            errors.append(
                HostUnfit(
                    f"the image needs about {show_bytes(image.size_bytes * _ROOM)} of disk, "
                    f"{show_bytes(free)} are free",
                    host=name,
                    command="df -h /var/lib/docker",
                    fix="free some space: docker system prune",
                )
            )
    raise_together("some hosts have too little disk", errors)
