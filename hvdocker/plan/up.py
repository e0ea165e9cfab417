"""What `up` has to do: nothing where a host already runs the worker it should."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.commands.container import ContainerSpec
from hvdocker.commands.ssh_files import Member, user_name
from hvdocker.commands.worker import Maker, Place, worker_spec
from hvdocker.errors import HvdockerError, raise_together
from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.placement import from_label
from hvdocker.model.seen import ClusterState, ContainerSeen
from hvdocker.plan.image import plan_image
from hvdocker.plan.places import fitness_problems, local_subnet
from hvdocker.plan.steps import (
    CONTROLLER,
    AwaitSshd,
    CheckMesh,
    CreateWorker,
    MakeFolders,
    MakeKeys,
    MakeNetwork,
    Plan,
    RefreshTrust,
    RemoveContainer,
    Stage,
    StartContainer,
    Step,
    Trust,
    plan_of,
)


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
    reasons = {
        name: _why_new(spec, workers.get(name), image.image_id, brought_public)
        for name, spec in specs.items()
    }
    fresh = [name for name, reason in reasons.items() if reason is not None]
    _spare_running_jobs(state, [name for name in fresh if name in workers])
    asleep = [name for name, worker in workers.items() if name not in fresh and not worker.is_running]
    kept = [name for name in placed if name not in fresh]
    touched = [name for name in placed if name in fresh or name in asleep]
    trust = _trust(inventory, placed, workers, fresh, brought_public is not None)
    removals = [
        RemoveContainer(name, workers[name].name, workers[name].id, reasons[name] or "")
        for name in fresh
        if name in workers
    ]
    creations = [CreateWorker(n, specs[n], placed[n].address, placed[n].port) for n in fresh]
    refreshes = [
        RefreshTrust(name, placed[name].worker_name, placed[name].uid, placed[name].gid)
        for name in kept
        if fresh
    ]
    starts = [StartContainer(name, placed[name].worker_name) for name in touched]
    waits = [AwaitSshd(n, placed[n].worker_name, placed[n].address, placed[n].port) for n in touched]
    return plan_of(
        "up",
        inventory.cluster,
        ("image", list(image.build)),
        ("image", list(image.ship)),
        ("files", _files(inventory, state, placed, fresh, trust)),
        Stage("containers", tuple(removals)),
        # Keys are made before the first worker is, and who was there is told before a new one starts; beyond
        # that no host waits for another.
        Stage("containers", tuple(creations), follows_on=bool(removals)),
        Stage("containers", tuple(refreshes)),
        Stage("containers", tuple(starts), follows_on=bool(creations) and not refreshes),
        Stage("sshd", tuple(waits), follows_on=True),
        ("mesh", _mesh(placed, touched)),
    )


def _why_new(
    spec: ContainerSpec, worker: ContainerSeen | None, image_id: str | None, brought: str | None
) -> str | None:
    """Why a worker has to be made, or None where the one there will do."""
    if worker is None:
        return "new"
    if worker.labels.get(names.LABEL_SPEC) != spec.fingerprint():
        return "its settings changed"
    if image_id is None or worker.image_id != image_id:
        return "the image changed"
    if worker.state not in ("running", "exited"):
        return f"it is {worker.state}"
    if brought is not None and worker.labels.get(names.LABEL_CLIENT_KEY) != brought:
        return "the client key changed"
    return None


def _spare_running_jobs(state: ClusterState, doomed: list[str]) -> None:
    for master in state.running_jobs():
        hurt = set(from_label(master.labels.get(names.LABEL_PLACEMENT, "{}")).hosts) & set(doomed)
        if hurt:
            raise HvdockerError(
                f"job {master.job} is running, and its worker on {', '.join(sorted(hurt))} would be replaced",
                fix=f"wait for it, or end it first: hvdocker stop {master.job}",
            )


def _trust(
    inventory: Inventory,
    placed: Mapping[str, Place],
    workers: Mapping[str, ContainerSeen],
    fresh: list[str],
    is_brought: bool,
) -> Trust:
    kept = [name for name in placed if name not in fresh]
    client_from = kept[0] if kept and not is_brought else None
    return Trust(
        cluster=inventory.cluster,
        port=next(iter(placed.values())).port,
        members=tuple(Member(n, place.address, user_name(place.uid)) for n, place in placed.items()),
        client_from=client_from,
        client_container=placed[client_from].worker_name if client_from else None,
        brought=(inventory.keys.private, inventory.keys.public) if inventory.keys else None,
        known_host_keys={name: workers[name].labels.get(names.LABEL_HOST_KEY, "") for name in kept},
        new_host_keys=tuple(fresh),
    )


def _files(
    inventory: Inventory,
    state: ClusterState,
    placed: Mapping[str, Place],
    fresh: list[str],
    trust: Trust,
) -> list[Step]:
    if not fresh:
        return []
    steps: list[Step] = [MakeKeys(CONTROLLER, trust)]
    if inventory.is_local and not state.network.own_subnet:
        network = names.network_name(inventory.cluster)
        steps.append(MakeNetwork(CONTROLLER, network, local_subnet(state), inventory.cluster))
    for name in fresh:
        place = placed[name]
        paths = (f"{place.folder}/code", f"{place.folder}/jobs")
        steps.append(MakeFolders(name, place.folder, paths, place.needs_open_folders))
    return steps


def _mesh(placed: Mapping[str, Place], touched: list[str]) -> list[Step]:
    """The head reaches every worker. Before a job is placed, the first host stands for the head."""
    if not touched:
        return []
    head = next(iter(placed))
    return [CheckMesh(head, placed[head].worker_name, tuple(placed))]
