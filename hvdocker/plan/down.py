"""What `down` has to do: bring home what was not fetched, then remove what carries our label."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import ClusterState, ContainerSeen, HostSeen
from hvdocker.plan.steps import (
    CONTROLLER,
    FetchJobs,
    Plan,
    RemoveContainer,
    RemoveNetwork,
    RemoveTree,
    Step,
    plan_of,
)


def plan_down(inventory: Inventory, state: ClusterState, unfetched: tuple[str, ...]) -> Plan:
    """`unfetched` names the jobs whose files were not brought home yet."""
    seen_ids: set[str] = set()
    masters: list[Step] = []
    workers: list[Step] = []
    for name, host in state.hosts.items():
        for container in host.containers:
            if container.id in seen_ids:
                continue
            seen_ids.add(container.id)
            kind = workers if container.role == names.ROLE_WORKER else masters
            # Hosts of a local cluster share an engine: a container is shown under its own host.
            owner = container.host if container.host in state.hosts else name
            kind.append(_remove(owner, container))
    return plan_of(
        "down",
        inventory.cluster,
        ("fetch", [FetchJobs(CONTROLLER, unfetched)] if unfetched else []),
        # Masters first: on a bridge they live in their head worker's network.
        ("containers", masters),
        ("containers", workers),
        ("files", _trees(state.hosts)),
        ("network", _networks(inventory, state)),
    )


def _remove(host: str, container: ContainerSeen) -> RemoveContainer:
    why = "running" if container.is_running and container.role == names.ROLE_MASTER else ""
    return RemoveContainer(host, container.name, container.id, why)


def _trees(hosts: Mapping[str, HostSeen]) -> list[Step]:
    steps: list[Step] = []
    for name, host in hosts.items():
        if host.cluster_dir:
            steps.append(RemoveTree(name, host.cluster_dir))
    return steps


def _networks(inventory: Inventory, state: ClusterState) -> list[Step]:
    if not inventory.is_local or not state.network.own_subnet:
        return []
    return [RemoveNetwork(CONTROLLER, names.network_name(inventory.cluster))]
