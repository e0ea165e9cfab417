"""Finds the requirements file of a job, and plans workers whose image has these Python requirements.

The file is parsed before any host is contacted. The requirements have a key, a hash of their content and of the content
of the cluster's image. If all workers of the job have that key as a label and the same image id, they already run the
right image. Otherwise the image `hvdocker-req:<key>` is searched on the controller and on all hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from hvdocker.errors import UsageProblem
from hvdocker.images.requirements import Requirements, Wheel, parse_requirements
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import at_home
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState, ImageSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import CONTROLLER, Plan
from hvdocker.training.plan.worker_images import (
    all_run_layer,
    have_one_image_id,
    plan_with_requirements,
    plan_without_requirements,
    requirements_layer,
)
from hvdocker.transport.session import Session

DEFAULT_FILE_NAME = "requirements.txt"


def find_requirements(cwd: Path, named: Path | None, folder: Path) -> Requirements | None:
    """Return the parsed requirements file: `named` (relative to `cwd`), or requirements.txt in `folder` if `named` is
    None.

    Return None if no file is named and `folder` has no requirements.txt. Raises UsageProblem if the file cannot be
    read."""
    path = (cwd / at_home(named)).resolve() if named else folder / DEFAULT_FILE_NAME
    if not named and not path.is_file():
        return None
    return parse_requirements(path, _read, _wheels_in)


def _read(path: PurePath) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageProblem(f"the requirements {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the requirements {path} are not UTF-8 text", lines=[str(error)]) from error


def _wheels_in(folder: PurePath) -> list[Wheel]:
    if not Path(folder).is_dir():
        raise UsageProblem(
            f"--find-links {folder} is not a folder", fix="name a folder of wheels, or the address of one"
        )
    return [Wheel(str(path), _digest(path)) for path in sorted(Path(folder).glob("*.whl"))]


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()


def plan_workers(
    session: Session,
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    hosts: Sequence[str],
    requirements: Requirements | None,
    maker: Maker,
) -> Plan:
    """Return the plan that gives the workers of `hosts` (the head first) the image that the job needs. `requirements`
    are the Python requirements of the job, None if it has none. `host_plans` has the host plans by host; `maker` (the
    owner and the version of hvdocker) goes into the labels of new workers.

    The plan is empty if the workers have the right image. For a job without requirements, this is any image that all
    workers of `hosts` have in common, even one with the requirements of an earlier job. Hosts are contacted only if
    the observed labels and image ids do not show that all workers have the right image."""
    if requirements is None:
        return plan_without_requirements(inventory, state, host_plans, hosts, _contents(session, state, hosts), maker)
    layer = requirements_layer(inventory, state, hosts, requirements)
    if all_run_layer(layer, state, hosts):
        return Plan("train", inventory.cluster)
    seen, state = _find_image(session, inventory, state, layer.image)
    return plan_with_requirements(inventory, state, host_plans, hosts, layer, seen, maker)


def _contents(session: Session, state: ClusterState, hosts: Sequence[str]) -> Mapping[str, str]:
    ids = {name: state.workers()[name].image_id for name in hosts}
    if have_one_image_id(state, hosts):
        return ids
    from hvdocker.observe.engine import see_images

    seen = see_images(session.links, ids)
    return {name: seen[name].content if name in seen else image_id for name, image_id in ids.items()}


def _find_image(
    session: Session, inventory: Inventory, state: ClusterState, image: str
) -> tuple[dict[str, ImageSeen], ClusterState]:
    """Return the image with the name `image` as it was found, by host, with the key CONTROLLER for the controller.
    Machines that lack it are not in the result.

    Also return `state` with the controller's copy of the cluster's image added, because `image` may be built from
    that copy."""
    from hvdocker.observe.engine import see_controller_image, see_images
    from hvdocker.observe.hosts import cluster_state

    seen = see_images(session.links, dict.fromkeys(state.hosts, image))
    own = see_controller_image(image)
    whole = cluster_state(inventory, state.hosts, with_images=True)
    return {**seen, **({CONTROLLER: own} if own else {})}, replace(whole, network=state.network)
