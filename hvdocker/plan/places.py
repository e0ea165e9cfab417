"""Where each host's containers live: training address, port, user, folders. And what stands in the way."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hvdocker.commands.probe import docker_arch
from hvdocker.commands.worker import Place, user_ids
from hvdocker.errors import HostUnfit, HvdockerError, raise_together
from hvdocker.model import names
from hvdocker.model.inventory import Host, Inventory
from hvdocker.model.seen import ClusterState, HostSeen
from hvdocker.model.units import show_bytes
from hvdocker.plan.extent import Extent, as_it_is

# The first that knows `--gpus` and is told apart by its device requests.
OLDEST_ENGINE = "19.03"
NEWER_ENGINE = "sudo apt-get update && { sudo apt-get install docker-ce || sudo apt-get install docker.io; }"
# Keys, a job's file and an index have to fit.
LEAST_HOME_BYTES = 1 << 20

_LOCAL_SUBNETS = tuple(f"198.18.{third}.0/24" for third in range(200, 250))

_ALL_IPV4 = ipaddress.ip_network("0.0.0.0/0")


def places(inventory: Inventory, state: ClusterState, extent: Extent | None = None) -> dict[str, Place]:
    """For every host of the cluster, in inventory order; of one that is there already, unless another extent
    is wanted. Raises where a training address is missing."""
    extent = extent or as_it_is(inventory, state)
    port = choose_port(inventory, state)
    members = {name: seen for name, seen in state.hosts.items() if name in extent.shares}
    addresses = training_addresses(inventory, replace(state, hosts=members))
    shared = shared_homes(inventory, state)
    return {
        host.name: _place(
            inventory, host, members[host.name], addresses[host.name], port, host.name in shared, extent
        )
        for host in inventory.hosts
        if host.name in members
    }


def shared_homes(inventory: Inventory, state: ClusterState) -> frozenset[str]:
    """Hosts whose home is another's too: workers of one machine, or one network file system (whose
    device is written server:/path) on several. Where the other is not seen now, the folder tells."""
    devices = [(seen.home_device, seen.home) for seen in state.hosts.values()]
    return frozenset(
        name
        for name, seen in state.hosts.items()
        if inventory.named(name).is_local
        or (seen.cluster_dir or "").endswith(f"/{inventory.cluster}/{name}")
        or (":" in seen.home_device and devices.count((seen.home_device, seen.home)) > 1)
    )


def _place(
    inventory: Inventory,
    host: Host,
    seen: HostSeen,
    address: str,
    port: int,
    has_shared_home: bool,
    extent: Extent,
) -> Place:
    uid, gid = user_ids(inventory, seen)
    share = extent.shares[host.name]
    return Place(
        host=host,
        seen=seen,
        address=address,
        port=port,
        uid=uid,
        gid=gid,
        slots=share.slots,
        folder=names.cluster_dir(seen.home, inventory.cluster, host.name if has_shared_home else None),
        worker_name=names.worker_name(inventory.cluster, host.name if host.is_local else None),
        sharing=len(inventory.hosts) if host.is_local else 1,
        devices=share.devices,
        asked=extent.asked,
    )


def choose_port(inventory: Inventory, state: ClusterState) -> int:
    """The inventory's, else the one the cluster has, else the first that is free on every host."""
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
    """The network that the cluster has, else the first of the benchmarking range that overlaps nothing."""
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
    if inventory.is_local:
        start = ipaddress.ip_network(local_subnet(state)).network_address
        return {host.name: str(start + 11 + index) for index, host in enumerate(inventory.hosts)}
    found: dict[str, str] = {}
    errors: list[HvdockerError] = []
    for host in inventory.hosts:
        if host.name in state.hosts:
            try:
                found[host.name] = _address(inventory, host, state.hosts[host.name])
            except HostUnfit as error:
                errors.append(error)
    raise_together("some hosts are not in the training network", errors)
    return found


def _address(inventory: Inventory, host: Host, seen: HostSeen) -> str:
    if host.address:
        return host.address
    if not inventory.network:
        return seen.reached_at or host.host
    network = ipaddress.ip_network(inventory.network, strict=False)
    inside = [address for address in seen.addresses if _is_in(address, network)]
    if inside:
        return inside[0]
    raise HostUnfit(
        f"no address of this host is in the training network {inventory.network}",
        host=host.name,
        command="ip -o addr",
        lines=[_has(seen)],
        fix=f"correct `network:`, or {_give_address(seen)}",
    )


def _has(seen: HostSeen) -> str:
    return f"it has {', '.join(seen.addresses) or 'none that we can see'}"


def _give_address(seen: HostSeen) -> str:
    """That by which it was reached before others: one of them may be docker0's."""
    reached = [seen.reached_at] if seen.reached_at in seen.addresses else []
    return give_address([*reached, *seen.addresses])


def give_address(known: Iterable[str]) -> str:
    """The line to write into the inventory, with the first of these that other hosts may reach."""
    fit = (text for text in known if _is_in(text, _ALL_IPV4) and not ipaddress.ip_address(text).is_link_local)
    first = next((text for text in fit if not is_loopback(text)), None)
    line = f"`address: {first}`" if first else "an `address:` that it has itself"
    return f"give this host {line}, or set `network:`"


def _is_in(address: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


def port_conflicts(state: ClusterState, placed: Mapping[str, Place]) -> list[str]:
    """Hosts on which somebody else listens on the cluster's port."""
    return [
        name
        for name, place in placed.items()
        if not place.host.is_local
        and place.port in place.seen.listening_ports
        and not _is_own(place.seen, name, place.port)
    ]


def _is_own(seen: HostSeen, name: str, port: int) -> bool:
    worker = seen.worker(name)
    return worker is not None and worker.is_running and worker.labels.get(names.LABEL_PORT) == str(port)


def fitness_problems(inventory: Inventory, placed: Mapping[str, Place]) -> list[HvdockerError]:
    """Everything that would make containers fail on a host, found before anything is made."""
    missing = [problem for name, place in placed.items() for problem in missing_mounts(name, place)]
    return [
        *missing,
        *room_problems(inventory, placed),
        *address_problems(placed),
        *nowhere_problems(placed),
        *architecture_problems(placed),
    ]


def room_problems(inventory: Inventory, placed: Mapping[str, Place]) -> list[HvdockerError]:
    """What an engine would refuse, or a disk."""
    refused = [problem.at(name) for name, place in placed.items() for problem in _refusals(place.seen)]
    return [*refused, *cpu_problems(inventory, placed)]


def cpu_problems(inventory: Inventory, placed: Mapping[str, Place]) -> list[HvdockerError]:
    wanted = inventory.cpus or 0
    return [
        HostUnfit(
            f"`cpus: {wanted:g}` is more than the {cpus} that it has",
            host=name,
            command="nproc",
            lines=[f"its engine has {cpus}, and refuses containers that ask for more"],
            fix=f"write `cpus: {cpus}` or less into the inventory",
        )
        for name, place in placed.items()
        if (cpus := place.seen.engine.cpus) and wanted > cpus
    ]


def _refusals(seen: HostSeen) -> Iterator[HvdockerError]:
    engine, home_free = seen.engine, seen.home_free_bytes
    if is_too_old(engine.version):
        yield HostUnfit(
            f"its Docker engine is too old: {engine.version}, at least {OLDEST_ENGINE} is needed",
            command="docker version",
            lines=[f"docker version: {engine.version}"],
            fix=NEWER_ENGINE,
        )
    if home_free is not None and home_free < LEAST_HOME_BYTES:
        yield HostUnfit(
            f"the disk of {seen.home} is full: {show_bytes(home_free)} are free",
            command=shlex.join(("df", "-h", seen.home)),
            lines=[f"{seen.home}: at least {show_bytes(LEAST_HOME_BYTES)} are needed"],
            fix=f"free some space there: du -xsh {shlex.quote(seen.home)}/* | sort -h",
        )


def is_too_old(version: str) -> bool:
    """Whether it does not know `--gpus` and what containers of ours are made with. Docker's numbers went from
    1.13 to 17.03; those of others who speak its API (podman, builds of moby) tell nothing."""
    numbers = version_numbers(version)
    return numbers[:1] in ((1,), (17,), (18,)) or (19,) <= numbers < version_numbers(OLDEST_ENGINE)


def version_numbers(text: str) -> tuple[int, ...]:
    """`20.10.24+dfsg1` and `535.183.01` as numbers that compare."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def address_problems(placed: Mapping[str, Place]) -> list[HvdockerError]:
    loopback: list[HvdockerError] = [
        HostUnfit(
            f"the training address is {place.address}, which other hosts cannot reach",
            host=name,
            command="ip -o addr",
            lines=[_has(place.seen)],
            fix=_give_address(place.seen),
        )
        for name, place in placed.items()
        if len(placed) > 1 and not place.host.is_local and is_loopback(place.address)
    ]
    return loopback + _same_address(placed)


def _same_address(placed: Mapping[str, Place]) -> list[HvdockerError]:
    """Two names for one machine, or an address that Horovod cannot write in -H."""
    first: dict[str, str] = {}
    problems: list[HvdockerError] = []
    for name, place in placed.items():
        other = first.setdefault(place.address, name)
        if other != name:
            problems.append(
                HostUnfit(
                    f"it has the same training address as {other}: {place.address}",
                    host=name,
                    command="ip -o addr",
                    lines=[f"{other} and {name}: {place.address}"],
                    fix="name a machine once, or give it an `address:` of its own",
                )
            )
        if ":" in place.address:
            problems.append(
                HostUnfit(
                    f"the training address {place.address} is IPv6, which Horovod does not take",
                    host=name,
                    command="ip -o addr",
                    lines=[_has(place.seen)],
                    fix=_give_address(place.seen),
                )
            )
    return problems


def nowhere_problems(placed: Mapping[str, Place]) -> list[HvdockerError]:
    """Training addresses on which a worker cannot listen: its host does not have them. Where no addresses
    were seen nothing is said."""
    return [
        HostUnfit(
            f"the training address {place.address} is on no interface of this host",
            host=name,
            command="ip -o addr",
            lines=[_has(place.seen)],
            fix=f"{_give_address(place.seen)} (behind NAT it cannot train)",
        )
        for name, place in placed.items()
        if not place.host.is_local
        and place.seen.addresses
        and _is_in(place.address, _ALL_IPV4)
        and not is_loopback(place.address)  # where there is no `ip`, loopback is not told
        and place.address not in place.seen.addresses
    ]


def missing_mounts(name: str, place: Place) -> list[HvdockerError]:
    return [
        HostUnfit(
            f"the mount source {path} is not there",
            host=name,
            command=shlex.join(("ls", "-ld", path)),
            lines=[f"{path}: no such file or folder"],
            fix=f"on the host: {shlex.join(('sudo', 'mkdir', '-p', path))} (or correct `mounts:`)",
        )
        for path in place.seen.missing_paths
    ]


def architecture_problems(placed: Mapping[str, Place]) -> list[HvdockerError]:
    by_arch: dict[str, list[str]] = {}
    for name, place in placed.items():
        by_arch.setdefault(docker_arch(place.seen.engine.architecture), []).append(name)
    if len(by_arch) < 2:
        return []
    common = max(by_arch, key=lambda arch: len(by_arch[arch]))
    return [
        HostUnfit(
            f"its CPU architecture is {arch}, the other hosts are {common}",
            host=name,
            command="uname -m",
            lines=[f"{one}: {', '.join(names)}" for one, names in by_arch.items()],
            fix="one image cannot serve both: leave this host out of the inventory",
        )
        for arch, hosts in by_arch.items()
        if arch != common
        for name in hosts
    ]


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
