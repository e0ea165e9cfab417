"""Finds what would make a worker fail on a host, before anything is created. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from hvdocker.cluster.plan.addresses import ALL_IPV4, address_fix, describe_addresses, is_in_network, is_loopback
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.probe import docker_arch
from hvdocker.observe.state import HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.units import show_bytes

# The first version with `--gpus` and with device requests in its API.
OLDEST_ENGINE = "19.03"
UPGRADE_ENGINE_FIX = "sudo apt-get update && { sudo apt-get install docker-ce || sudo apt-get install docker.io; }"
# Room for keys, a job's file and the index of the code.
MIN_HOME_BYTES = 1 << 20


def fitness_problems(inventory: Inventory, placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return all problems of all hosts that would make a container fail."""
    missing = [problem for name, place in placed.items() for problem in missing_mounts(name, place)]
    return [
        *missing,
        *room_problems(inventory, placed),
        *address_problems(placed),
        *missing_address_problems(placed),
        *architecture_problems(placed),
    ]


def room_problems(inventory: Inventory, placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return problems with the resources of hosts: a Docker engine that is too old, a full home, too few CPUs."""
    refused = [problem.at(name) for name, place in placed.items() for problem in _engine_and_disk_problems(place.seen)]
    return [*refused, *cpu_problems(inventory, placed)]


def cpu_problems(inventory: Inventory, placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return one problem for each host that has fewer CPUs than the inventory's `cpus:`.

    A host whose number of CPUs is unknown is not checked."""
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


def _engine_and_disk_problems(seen: HostSeen) -> Iterator[HvdockerError]:
    engine, home_free = seen.engine, seen.home_free_bytes
    if is_too_old(engine.version):
        yield HostUnfit(
            f"its Docker engine is too old: {engine.version}, at least {OLDEST_ENGINE} is needed",
            command="docker version",
            lines=[f"docker version: {engine.version}"],
            fix=UPGRADE_ENGINE_FIX,
        )
    if home_free is not None and home_free < MIN_HOME_BYTES:
        yield HostUnfit(
            f"the disk of {seen.home} is full: {show_bytes(home_free)} are free",
            command=shlex.join(("df", "-h", seen.home)),
            lines=[f"{seen.home}: at least {show_bytes(MIN_HOME_BYTES)} are needed"],
            fix=f"free some space there: du -xsh {shlex.quote(seen.home)}/* | sort -h",
        )


def is_too_old(version: str) -> bool:
    """Return whether this version of the Docker engine is older than OLDEST_ENGINE.

    Old versions are 1.x, 17.x, 18.x and 19.x before OLDEST_ENGINE (Docker went from 1.13 to 17.03). Other numbers
    below 19 are those of engines with the same API, such as podman or builds of moby, and are accepted."""
    numbers = version_numbers(version)
    return numbers[:1] in ((1,), (17,), (18,)) or (19,) <= numbers < version_numbers(OLDEST_ENGINE)


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version: (20, 10, 24) for `20.10.24+dfsg1`.

    Empty if the text does not start with a number."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def address_problems(placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return problems of training addresses: loopback among several hosts, duplicates, and IPv6."""
    loopback: list[HvdockerError] = [
        HostUnfit(
            f"the training address is {place.address}, which other hosts cannot reach",
            host=name,
            command="ip -o addr",
            lines=[describe_addresses(place.seen)],
            fix=address_fix(place.seen),
        )
        for name, place in placed.items()
        if len(placed) > 1 and not place.host.is_local and is_loopback(place.address)
    ]
    return loopback + _duplicate_and_ipv6_problems(placed)


def _duplicate_and_ipv6_problems(placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return one problem for each training address that an earlier host has too, or that is IPv6.

    Horovod does not accept IPv6 addresses in -H."""
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
                    lines=[describe_addresses(place.seen)],
                    fix=address_fix(place.seen),
                )
            )
    return problems


def missing_address_problems(placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return one problem for each training address that is on no interface of its host.

    A worker cannot listen on such an address. A host whose addresses are unknown is not checked."""
    return [
        HostUnfit(
            f"the training address {place.address} is on no interface of this host",
            host=name,
            command="ip -o addr",
            lines=[describe_addresses(place.seen)],
            fix=f"{address_fix(place.seen)} (behind NAT it cannot train)",
        )
        for name, place in placed.items()
        if not place.host.is_local
        and place.seen.addresses
        and is_in_network(place.address, ALL_IPV4)
        and not is_loopback(place.address)  # a host without `ip` does not report loopback
        and place.address not in place.seen.addresses
    ]


def missing_mounts(name: str, place: HostPlan) -> list[HvdockerError]:
    """Return one problem for each source of `mounts:` that does not exist on the host."""
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


def architecture_problems(placed: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return an error for each host whose CPU architecture differs from the majority's.

    One image cannot run on two architectures."""
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
