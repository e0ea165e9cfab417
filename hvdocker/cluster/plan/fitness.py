"""Finds what would make a worker fail on a host, before anything is created. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from hvdocker.cluster.plan.address_problems import address_problems, missing_address_problems
from hvdocker.cluster.plan.engine_kinds import engine_kind_problem
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


def fitness_problems(inventory: Inventory, host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return all problems of all hosts that would make a container or a job fail. `host_plans` has the plan of each
    host."""
    mounts = [problem for name, place in host_plans.items() for problem in mount_problems(inventory, name, place)]
    return [
        *mounts,
        *room_problems(inventory, host_plans),
        *address_problems(host_plans),
        *missing_address_problems(host_plans),
        *architecture_problems(host_plans),
    ]


def room_problems(inventory: Inventory, host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return problems with the engine and the resources of hosts. `host_plans` has the plan of each host.

    Problems are an engine of the wrong kind (rootless, mapped users, snap), an engine that is too old, a full home, and
    fewer CPUs than the inventory's `cpus:`."""
    refused = [
        problem.at(name)
        for name, place in host_plans.items()
        if not place.host.is_local
        for problem in _engine_kind_problems(place.seen)
    ]
    refused += [
        problem.at(name) for name, place in host_plans.items() for problem in _engine_and_disk_problems(place.seen)
    ]
    return [*refused, *cpu_problems(inventory, host_plans)]


def cpu_problems(inventory: Inventory, host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return one problem for each host in `host_plans` that has fewer CPUs than the inventory's `cpus:`.

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
        for name, place in host_plans.items()
        if (cpus := place.seen.engine.cpus) and wanted > cpus
    ]


def _engine_kind_problems(seen: HostSeen) -> Iterator[HvdockerError]:
    if problem := engine_kind_problem(seen.engine.security, seen.engine.root_dir):
        yield problem


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


def mount_problems(inventory: Inventory, name: str, place: HostPlan) -> list[HvdockerError]:
    """Return one problem for each source of `mounts:` that the host `name` lacks, or that ranks may not read there.

    `place` is the host's plan. Whether ranks may read a source is checked only if they run as the SSH user (`user:
    host`). For another user this is not known."""
    missing: list[HvdockerError] = [
        HostUnfit(
            f"the mount source {path} is not there",
            host=name,
            command=shlex.join(("ls", "-ld", path)),
            lines=[f"{path}: no such file or folder, or in a folder that the SSH user may not enter"],
            fix=f"on the host: {shlex.join(('sudo', 'mkdir', '-p', path))} (or correct `mounts:`)",
        )
        for path in place.seen.missing_paths
    ]
    if inventory.user != "host":
        return missing
    return missing + [
        HostUnfit(
            f"ranks could not read the mount source {path}: permission denied",
            host=name,
            command=shlex.join(("ls", "-ld", path)),
            lines=["ranks run as the SSH user, with the groups of that user, who may not read it"],
            fix="let the SSH user read it, by its mode or by its group (sudo usermod -aG GROUP USER); then hvdocker up",
        )
        for path in place.seen.unreadable_paths
    ]


def architecture_problems(host_plans: Mapping[str, HostPlan]) -> list[HvdockerError]:
    """Return an error for each host in `host_plans` whose CPU architecture differs from the majority's.

    One image cannot run on two architectures."""
    by_arch: dict[str, list[str]] = {}
    for name, place in host_plans.items():
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
