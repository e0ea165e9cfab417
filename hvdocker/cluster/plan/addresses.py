"""Decides for each host the training address, port, user, folder and slots of its worker. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hvdocker import names
from hvdocker.cluster.containers.roles import user_ids
from hvdocker.errors import HostUnfit, HvdockerError, raise_all
from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.observe.state import ClusterState, HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.scope import ClusterScope, current_scope

# Subnets for the network of a local cluster (--local). Its workers have fixed addresses, which Docker allows only
# in a network with a configured subnet. This range is reserved for benchmarks, so no LAN uses it.
_LOCAL_SUBNETS = tuple(f"198.18.{third}.0/24" for third in range(200, 250))

ALL_IPV4 = ipaddress.ip_network("0.0.0.0/0")


def plan_hosts(inventory: Inventory, state: ClusterState, scope: ClusterScope | None = None) -> dict[str, HostPlan]:
    """Return the HostPlan of every observed host of the cluster, in the inventory's order.

    `scope` says which hosts and slots the cluster gets. None means those that the existing cluster has. Raises
    HvdockerError if a host has no address in the training network."""
    scope = scope or current_scope(inventory, state)
    port = choose_port(inventory, state)
    members = {name: seen for name, seen in state.hosts.items() if name in scope.shares}
    addresses = training_addresses(inventory, replace(state, hosts=members))
    return {
        host.name: _host_plan(inventory, host, members[host.name], addresses[host.name], port, scope)
        for host in inventory.hosts
        if host.name in members
    }


def _host_plan(
    inventory: Inventory, host: Host, seen: HostSeen, address: str, port: int, scope: ClusterScope
) -> HostPlan:
    uid, gid = user_ids(inventory, seen)
    share = scope.shares[host.name]
    return HostPlan(
        host=host,
        seen=seen,
        address=address,
        port=port,
        uid=uid,
        gid=gid,
        slots=share.slots,
        folder=seen.cluster_dir or names.host_dir(seen.home, inventory.cluster, host.name),
        worker_name=names.worker_name(inventory.cluster, host.name if host.is_local else None),
        workers_on_machine=len(inventory.hosts) if host.is_local else 1,
        devices=share.devices,
        request_label=scope.request_label,
    )


def choose_port(inventory: Inventory, state: ClusterState) -> int:
    """Return the port of the workers' sshd: the inventory's, else that of existing workers, else a free one.

    The free port is the first from DEFAULT_PORT on which no host listens. A local cluster gets DEFAULT_PORT instead,
    because its workers have a network of their own."""
    if inventory.port:
        return inventory.port
    for worker in state.workers().values():
        if worker.labels.get(names.LABEL_PORT, "").isdigit():
            return int(worker.labels[names.LABEL_PORT])
    if inventory.is_local:
        return names.DEFAULT_PORT
    taken = frozenset[int]().union(*(seen.listening_ports for seen in state.hosts.values()))
    return next(port for port in range(names.DEFAULT_PORT, 65536) if port not in taken)


def local_subnet(state: ClusterState) -> str:
    """Return the subnet of a local cluster: that of its existing network, else a free one of `_LOCAL_SUBNETS`.

    Raises HvdockerError if all of `_LOCAL_SUBNETS` overlap other networks."""
    if state.network.own_subnet:
        return state.network.own_subnet
    taken = [ipaddress.ip_network(text) for text in state.network.subnets_taken if ":" not in text]
    for candidate in _LOCAL_SUBNETS:
        network = ipaddress.ip_network(candidate)
        if not any(network.overlaps(other) for other in taken if other.version == 4):
            return candidate
    raise HvdockerError(
        "no subnet is free for a local cluster", fix="remove unused Docker networks: docker network prune"
    )


def training_addresses(inventory: Inventory, state: ClusterState) -> Mapping[str, str]:
    """Return the training addresses of the observed hosts, by host.

    In a local cluster, each worker gets an address of the cluster's subnet, whether it was observed or not. Raises
    HostUnfit if a host has no address in the inventory's `network:`, or HostErrors if several have none."""
    if inventory.is_local:
        start = ipaddress.ip_network(local_subnet(state)).network_address
        return {host.name: str(start + 11 + index) for index, host in enumerate(inventory.hosts)}
    found: dict[str, str] = {}
    errors: list[HvdockerError] = []
    for host in inventory.hosts:
        if host.name in state.hosts:
            try:
                found[host.name] = _training_address(inventory, host, state.hosts[host.name])
            except HostUnfit as error:
                errors.append(error)
    raise_all("some hosts are not in the training network", errors)
    return found


def _training_address(inventory: Inventory, host: Host, seen: HostSeen) -> str:
    """Return the training address of a host. `seen` has the addresses that were observed on the host.

    The `address:` of the host in the inventory has precedence. Without it, return the host's first address in the
    inventory's `network:`. Without `network:` too, return the address by which the host was reached, or its `host:` if
    that is unknown. Raises HostUnfit if the host has no address in `network:`."""
    if host.address:
        return host.address
    if not inventory.network:
        return seen.reached_at or host.host
    network = ipaddress.ip_network(inventory.network, strict=False)
    inside = [address for address in seen.addresses if is_in_network(address, network)]
    if inside:
        return inside[0]
    raise HostUnfit(
        f"no address of this host is in the training network {inventory.network}",
        host=host.name,
        command="ip -o addr",
        lines=[describe_addresses(seen)],
        fix=f"correct `network:`, or {address_fix(seen)}",
    )


def describe_addresses(seen: HostSeen) -> str:
    return f"it has {', '.join(seen.addresses) or 'none that we can see'}"


def address_fix(seen: HostSeen) -> str:
    """Return advice for the user: an address of the observed host to write into the inventory as its `address:`.

    The address by which the host was reached is preferred, because another address may be that of docker0."""
    reached = [seen.reached_at] if seen.reached_at in seen.addresses else []
    return address_fix_from([*reached, *seen.addresses])


def address_fix_from(known: Iterable[str]) -> str:
    """Return advice for the user: the `address:` line to write into the inventory.

    It names the first IPv4 address in `known` that is neither loopback nor link-local. If there is none, the advice
    names no address."""
    fit = (text for text in known if is_in_network(text, ALL_IPV4) and not ipaddress.ip_address(text).is_link_local)
    first = next((text for text in fit if not is_loopback(text)), None)
    line = f"`address: {first}`" if first else "an `address:` that it has itself"
    return f"give this host {line}, or set `network:`"


def is_in_network(address: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Return whether the address is in the network; False for text that is no address."""
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


def moved_worker_problem(host: Host, seen: HostSeen, up: str, address: str | None = None) -> HvdockerError | None:
    """Return the problem of a running worker whose address is no longer the training address of its host, or None.

    The cause is a host that got another address since `up`. `seen` is the observed host. `up` is the command that the
    error suggests (`hvdocker up`). `address` is the training address, None if it is not known. Without it, a worker
    whose address is still on the host is no problem."""
    worker = seen.worker(host.name)
    listens = worker.labels.get(names.LABEL_ADDRESS) if worker and worker.is_running else None
    if not listens or host.is_local or listens == address or not seen.addresses:
        return None
    if listens not in seen.addresses:
        what = f"its worker listens on {listens}, and the host no longer has this address"
    elif address:
        what = f"its worker listens on {listens}, and its training address is {address} now"
    else:
        return None
    return HostUnfit(what, host=host.name, command="ip -o addr", lines=[describe_addresses(seen)], fix=up)


def port_conflicts(state: ClusterState, host_plans: Mapping[str, HostPlan]) -> list[str]:
    """Return the hosts in `host_plans` whose worker port is taken by a process that is not the cluster's worker."""
    return [
        name
        for name, place in host_plans.items()
        if not place.host.is_local
        and place.port in place.seen.listening_ports
        and not _is_own_worker(place.seen, name, place.port)
    ]


def _is_own_worker(seen: HostSeen, name: str, port: int) -> bool:
    worker = seen.worker(name)
    return worker is not None and worker.is_running and worker.labels.get(names.LABEL_PORT) == str(port)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
