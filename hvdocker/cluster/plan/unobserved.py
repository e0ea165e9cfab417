"""Refuses to remove a cluster if some of its folders were not observed, because outputs in them would be lost. Pure."""

from __future__ import annotations

from hvdocker import names
from hvdocker.errors import UsageProblem
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState


def refuse_workers_beyond_inventory(inventory: Inventory, state: ClusterState, flag: str) -> None:
    """Raise UsageProblem if the engine of a local cluster has a worker of the cluster that the inventory does not name.

    `up --local 2` after `up --local 3` leaves such a worker. Its folder was not observed, and may have outputs. `flag`
    (` -i FILE`) is added to the `hvdocker down` that the error suggests."""
    if not inventory.is_local:
        return
    known = {host.name for host in inventory.hosts}
    workers = {c.host for host in state.hosts.values() for c in host.containers if c.role == names.ROLE_WORKER}
    beyond = sorted(workers - known, key=lambda name: (len(name), name))
    if not beyond:
        return
    numbers = [int(name[1:]) for name in workers | known if name[1:].isdecimal()]
    count = max(numbers, default=len(known))
    raise UsageProblem(
        f"the cluster {inventory.cluster} has workers that the inventory does not have: {', '.join(beyond)}; "
        "nothing was removed, because their outputs would be lost",
        fix=f"hvdocker up --local {count} (or `local: {count}` in your inventory), then hvdocker down{flag}",
    )


def refuse_renamed_hosts(inventory: Inventory, state: ClusterState, flag: str) -> None:
    """Raise UsageProblem if a host has a worker that was created when the inventory had another name for the host.

    The folder of such a worker has the earlier name, so it was not observed. Hosts of a local cluster are not checked.
    `flag` (` -i FILE`) is added to the `hvdocker down` that the error suggests."""
    if inventory.is_local:
        return
    for name, host in state.hosts.items():
        # A cluster of an earlier version of hvdocker has one folder, whatever the name of the host.
        if host.cluster_dir == names.cluster_dir(host.home, inventory.cluster):
            continue
        workers = (c for c in host.containers if c.role == names.ROLE_WORKER and c.host)
        # A machine that the inventory names twice has been observed under the worker's name too.
        former = next((worker.host for worker in workers if state.host_of(worker) != worker.host), None)
        if former:
            raise UsageProblem(
                f"the worker on {name} was created when the host had the name {former}; nothing was removed, because "
                f"outputs in the folder of {former} would be lost",
                host=name,
                fix=f"give the host `name: {former}` in the inventory again, then hvdocker down{flag}",
            )
