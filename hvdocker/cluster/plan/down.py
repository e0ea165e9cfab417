"""Plans `down`: end jobs, fetch job files that were not fetched yet, then remove the cluster. Pure.

The cluster's containers, folders and network are removed. Images stay: they are a cache for the next `up`."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker import names
from hvdocker.cluster.steps import RemoveContainer, RemoveNetwork, RemoveTree
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.results.code_files import NO_JOB
from hvdocker.jobs.steps import FetchJobs, StopJob
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.plan.plan import CONTROLLER, Plan, Step, plan_of


def plan_down(inventory: Inventory, state: ClusterState, unfetched: tuple[str, ...]) -> Plan:
    """Return the plan of `down`.

    `unfetched` are the jobs whose files are to be fetched before the removal. NO_JOB among them stands for files in the
    code folders that belong to no job."""
    seen_ids: set[str] = set()
    masters: list[Step] = []
    workers: list[Step] = []
    for host in state.hosts.values():
        for container in host.containers:
            if container.id in seen_ids:
                continue
            seen_ids.add(container.id)
            kind = workers if container.role == names.ROLE_WORKER else masters
            kind.append(_step_to_remove(state.host_of(container), container))
    return plan_of(
        "down",
        inventory.cluster,
        ("jobs", _steps_to_stop_jobs(state)),
        ("fetch", [FetchJobs(CONTROLLER, tuple(filter(None, unfetched)), NO_JOB in unfetched)] if unfetched else []),
        # Masters first: in a local cluster a master uses the network namespace of its head's worker.
        ("containers", masters),
        ("containers", workers),
        ("files", _steps_to_remove_folders(state.hosts)),
        ("network", _steps_to_remove_network(inventory, state)),
    )


def _steps_to_stop_jobs(state: ClusterState) -> list[Step]:
    """Return steps that end running jobs gracefully, before the fetch, so that their outputs are complete."""
    return [StopJob(state.host_of(master), master.job, master.id) for master in state.running_jobs()]


def _step_to_remove(host: str, container: ContainerSeen) -> RemoveContainer:
    return RemoveContainer(host, container.name, container.id)


def _steps_to_remove_folders(hosts: Mapping[str, HostSeen]) -> list[Step]:
    """Return steps that remove the cluster's folders of the observed hosts (`hosts`).

    The folder of a host that was not observed stays, even if it is in a home folder that an observed host shares: it
    may have outputs that were not fetched."""
    return [RemoveTree(name, host.cluster_dir) for name, host in hosts.items() if host.cluster_dir]


def _steps_to_remove_network(inventory: Inventory, state: ClusterState) -> list[Step]:
    if not inventory.is_local or not state.network.own_subnet:
        return []
    return [RemoveNetwork(CONTROLLER, names.network_name(inventory.cluster))]
