"""The stages that create or replace workers. `up`, `keys rotate` and `train` share them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from hvdocker import names
from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.plan.addresses import local_subnet
from hvdocker.cluster.plan.join import Join, steps_to_join, steps_to_update_masters
from hvdocker.cluster.plan.members import (
    NONE_UNREACHABLE,
    all_members,
    is_outdated,
    members_line,
    steps_to_write_members,
)
from hvdocker.cluster.steps import (
    AwaitSshd,
    CheckMesh,
    CreateWorker,
    MakeFolders,
    MakeKeys,
    MakeNetwork,
    RefreshTrust,
    RemoveContainer,
    StartContainer,
    Trust,
)
from hvdocker.cluster.unreachable_host import UnreachableHost
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.errors import HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import CONTROLLER, Stage, Step


def worker_spec_with_image(inventory: Inventory, place: HostPlan, maker: Maker, image: str) -> ContainerSpec:
    """Return the specification of a worker with the image `image` (a tag) instead of the inventory's.

    `place` is the plan of its host. `maker` has the owner and version for its labels."""
    return worker_spec(replace(inventory, image=image), place, maker)


def worker_stages(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    specs: Mapping[str, ContainerSpec],
    reasons: Mapping[str, str],
    joins: Mapping[str, Join] = MappingProxyType({}),
    unreachable: Mapping[str, UnreachableHost] = NONE_UNREACHABLE,
) -> list[Stage]:
    """Return the stages that create or replace workers, and update the workers that are kept.

    `host_plans` has the host plans, and `specs` the specification of each host's worker. `reasons` maps each host that
    gets a new worker to the reason. On the other hosts a stopped worker is started. If workers are added, replaced or
    removed, the SSH files of kept workers and of the masters of running jobs are updated. `joins` says, by host, which
    running job a new worker joins. `unreachable` hosts do not answer: they stay trusted, so that they can come back.
    Raises HvdockerError if a running job would lose a worker.

    The label of a new worker has its public key. All kept workers get that key before the new worker is started, so
    they know every worker that runs. If `up` is interrupted, the next `up` can see from labels and container states how
    far it came."""
    workers = {name: worker for name, worker in state.workers().items() if name in host_plans}
    new_workers = [name for name in host_plans if name in reasons]
    new = [name for name in new_workers if name not in workers]
    # Only living workers are refused. A running job cannot use a worker that died or was never started, so such a
    # worker is replaced.
    refuse_to_hurt_jobs(state, [name for name in new_workers if name in workers and workers[name].is_living])
    asleep = [name for name, worker in workers.items() if name not in reasons and not worker.is_running]
    kept = [name for name in host_plans if name not in reasons]
    started_hosts = [name for name in host_plans if name in reasons or name in asleep]
    members = all_members(inventory, host_plans, unreachable)
    host_keys = {name: workers[name].labels.get(names.LABEL_HOST_KEY, "") for name in kept}
    host_keys |= {name: one.host_key for name, one in unreachable.items()}
    trust = _trust(inventory, host_plans, new_workers, members, host_keys)
    is_told = bool(new_workers) or is_outdated(members, host_plans, kept)
    removals: list[Step] = [
        RemoveContainer(n, workers[n].name, workers[n].id, reasons[n]) for n in new_workers if n in workers
    ]
    refreshed: list[Step] = [
        RefreshTrust(n, host_plans[n].worker_name, host_plans[n].uid, host_plans[n].gid) for n in kept if is_told
    ]
    wanted = {name: joins[name].label_worker(specs[name]) if name in joins else specs[name] for name in new_workers}
    created = [CreateWorker(n, wanted[n], host_plans[n].address, host_plans[n].port) for n in new_workers]
    told = list(steps_to_update_masters(state, host_plans, new_workers, joins, unreachable)) if is_told else []
    started = [StartContainer(name, host_plans[name].worker_name) for name in started_hosts]
    awaited = [
        AwaitSshd(n, host_plans[n].worker_name, host_plans[n].address, host_plans[n].port) for n in started_hosts
    ]
    return [
        Stage("files", tuple(_steps_to_prepare(inventory, state, new_workers, trust)) if is_told else ()),
        Stage("files", tuple(_steps_to_make_folders(host_plans, specs, new_workers, new, trust))),
        Stage("containers", tuple(removals)),
        # Hosts wait for each other in three places: all keys exist before the first worker is created, all folders
        # before the first worker is removed, and all existing workers are updated before a new worker starts.
        # Otherwise no host waits for another.
        Stage("containers", tuple(created), follows_on=True),
        Stage("containers", tuple(refreshed)),
        Stage(
            "containers", tuple(steps_to_write_members(members, host_plans, new)) if is_told else (), follows_on=True
        ),
        # A new host joins the job, and the master's files name it, before its worker is started. So a worker that
        # runs has joined, even if this run is interrupted, and a worker that was never started is replaced by the
        # next `up`. The other order could leave a running worker that holds slots and that the master does not
        # know. The job ignores a host until its worker answers.
        Stage("join", tuple(steps_to_join(state, host_plans, new_workers, joins)), follows_on=True),
        Stage("join", tuple(told)),
        Stage("containers", tuple(started), follows_on=bool(created) and not refreshed and not told),
        Stage("sshd", tuple(awaited), follows_on=True),
        Stage("mesh", tuple(_steps_to_check_mesh(host_plans, started_hosts))),
    ]


def refuse_to_hurt_jobs(state: ClusterState, doomed: list[str]) -> None:
    """Raise HvdockerError if a running job uses one of the `doomed` hosts.

    The plan would remove the workers of these hosts, which run or are paused."""
    for master in state.running_jobs():
        hurt = set(state.placement_of(master).hosts) & set(doomed)
        if hurt:
            raise HvdockerError(
                f"job {master.job} is running, and its worker on {', '.join(sorted(hurt))} would be replaced",
                fix=f"wait for it, or end it first: hvdocker stop {master.job}",
            )


def _trust(
    inventory: Inventory,
    host_plans: Mapping[str, HostPlan],
    new_workers: list[str],
    members: tuple[ClusterMember, ...],
    host_keys: Mapping[str, str],
) -> Trust:
    """Return a Trust: the `members` of the cluster and the sources of its SSH keys.

    The client key is the user's own, else that of a kept worker, else a new key. `host_plans` has the host plans.
    `new_workers` are the hosts in `host_plans` that get a new worker, with a new host key. `host_keys` has
    the public host keys of the other members, by host."""
    kept = [name for name in host_plans if name not in new_workers]
    client_from = kept[0] if kept and not inventory.keys else None
    return Trust(
        cluster=inventory.cluster,
        port=next(iter(host_plans.values())).port,
        members=members,
        client_key_host=client_from,
        client_key_container=host_plans[client_from].worker_name if client_from else None,
        user_key_files=(inventory.keys.private, inventory.keys.public) if inventory.keys else None,
        known_host_keys=host_keys,
        new_host_keys=tuple(new_workers),
    )


def _steps_to_prepare(inventory: Inventory, state: ClusterState, new_workers: list[str], trust: Trust) -> list[Step]:
    """Return the steps on the controller that come before the first container.

    They make the keys, and the network of a local cluster. `new_workers` are the hosts that get a new worker.
    `trust` says which keys are generated and from where the others are read."""
    steps: list[Step] = [MakeKeys(CONTROLLER, trust)]
    if new_workers and inventory.is_local and not state.network.own_subnet:
        network = names.network_name(inventory.cluster)
        steps.append(MakeNetwork(CONTROLLER, network, local_subnet(state), inventory.cluster))
    return steps


def _steps_to_make_folders(
    host_plans: Mapping[str, HostPlan],
    specs: Mapping[str, ContainerSpec],
    new_workers: list[str],
    new: list[str],
    trust: Trust,
) -> Iterator[MakeFolders]:
    """Yield the steps that make the folders of the `new_workers`, the hosts that get a new worker.

    On a host in `new`, which has no worker yet, the step also writes the members file. On the other hosts the old
    worker still runs. Their members file is written later, because it must not name members whose keys the old worker
    does not have. `specs` has the worker specifications and `host_plans` the plans of all hosts, both by host."""
    for name in new_workers:
        place = host_plans[name]
        paths = (f"{place.folder}/code", f"{place.folder}/jobs", *_run_mark_folders(place.folder, specs[name]))
        members = members_line(trust.members) if name in new else ""
        yield MakeFolders(name, place.folder, paths, place.needs_open_folders, members)


def _run_mark_folders(folder: str, spec: ContainerSpec) -> list[str]:
    """Return a list with the path of the run mark, or an empty list if another verb than `hvdocker run` makes the
    worker.

    A run mark is an empty folder whose name has the token and owner of a `hvdocker run`. By it `gc` identifies that
    `hvdocker run` when none of its containers is left. `folder` is the cluster's folder on the host. `spec` is the
    worker's specification, with the token and owner in its labels."""
    run = spec.labels.get(names.LABEL_RUN)
    return [names.run_mark(folder, run, spec.labels[names.LABEL_OWNER])] if run else []


def _steps_to_check_mesh(host_plans: Mapping[str, HostPlan], started_hosts: list[str]) -> list[Step]:
    """Return a list with the step that logs in over SSH from the worker of the first host in `host_plans` to all
    workers.

    The master of a job will log in in the same way. `started_hosts` are the hosts whose worker the plan starts. If
    there are none, the list is empty."""
    if not started_hosts:
        return []
    head = next(iter(host_plans))
    return [CheckMesh(head, host_plans[head].worker_name, tuple(host_plans))]
