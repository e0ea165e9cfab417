"""Why nothing can be said of the ways from and to a host, and what would change that."""

from __future__ import annotations

from collections.abc import Mapping, Set

from hvdocker.commands.worker import Place
from hvdocker.errors import HvdockerError
from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import ClusterState
from hvdocker.plan.doctor.survey import Absence


def missing(
    inventory: Inventory,
    state: ClusterState,
    placed: Mapping[str, Place],
    reached: Set[str],
    inventory_flag: str,
) -> dict[str, Absence]:
    """Hosts on which no container of the training image can be started."""
    found: dict[str, Absence] = {}
    for host in inventory.hosts:
        if host.name not in reached:
            found[host.name] = Absence("not reached", (f"{host.name} was not reached",))
        elif host.name not in placed:
            found[host.name] = Absence("not seen", (f"{host.name} was reached, but it is not fit",))
        elif host.is_local:
            found[host.name] = _local(host.name)
        elif (why := _image(inventory, state, placed[host.name], inventory_flag)) is not None:
            found[host.name] = why
    return found


def _local(name: str) -> Absence:
    line = f"{name} is a container of this machine: there is no network between workers before they are up"
    return Absence("not up", (line,), "hvdocker up")


def _image(inventory: Inventory, state: ClusterState, place: Place, inventory_flag: str) -> Absence | None:
    image, name = inventory.image, place.name
    if place.seen.image is None:
        is_nowhere = state.controller_image is None and not any(seen.image for seen in state.hosts.values())
        line = f"{name} has no image {image}: what can be reached is tried from inside it"
        return Absence("no image", (line,), _build(image) if is_nowhere else _push(inventory_flag))
    if not place.seen.image.is_ours:
        line = f"the image {image} on {name} is not made for hvdocker (no label {names.LABEL_IMAGE})"
        return Absence("other image", (line,), "build yours FROM doc-hvd:base or doc-hvd:cpu")
    return None


def _push(inventory_flag: str) -> str:
    return f"hvdocker image push {inventory_flag}".strip()


def _build(image: str) -> str:
    if image in names.OWN_IMAGES:
        return f"hvdocker image build --target {image.partition(':')[2]}"
    return f"docker pull {image}"


def old_image(inventory: Inventory, name: str, said: str) -> Absence:
    """Its `check` does not know the words: it prints its usage."""
    line = f"the image {inventory.image} on {name} comes from an older hvdocker: its checks are fewer"
    build = (
        _build(inventory.image) if inventory.image in names.OWN_IMAGES else f"build {inventory.image} anew"
    )
    return Absence("old image", (line, *said.splitlines()[-1:]), f"{build} && hvdocker up")


def without_post(name: str, why: str, said: str) -> Absence:
    fix = "give this host an `address:` that one of its interfaces has" if "cannot listen" in why else None
    return Absence("no answer", (f"{name}: {why}", *said.splitlines()[-3:]), fix)


def lost(error: HvdockerError) -> Absence:
    return Absence("failed", (str(error), *error.lines), error.fix)
