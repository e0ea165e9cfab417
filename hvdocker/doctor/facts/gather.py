"""Gathers facts from one host over its link and its engine. Creates and changes nothing on the host."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from docker import APIClient

from hvdocker import names
from hvdocker.doctor.facts.commands import query_cards, query_machine
from hvdocker.doctor.facts.facts import ClockSeen, EngineState, MachineSeen
from hvdocker.doctor.facts.parse_machine import read_machine
from hvdocker.errors import CommandTimeout, HvdockerError
from hvdocker.observe.clock import clock, read_clock
from hvdocker.observe.engine import security_options, see_containers
from hvdocker.observe.gpu_query import HUNG_ERROR, NVIDIA_SMI_TIMEOUT_S
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink

LOOK_TIMEOUT_S = 60.0
# The script of `query_cards` waits for nvidia-smi twice: a further call, with an unknown field, fails at once.
CARDS_TIMEOUT_S = 2 * NVIDIA_SMI_TIMEOUT_S + 2.0
CLOCK_TIMEOUT_S = 15.0
CLOCK_TRIES = 3
_HUNG_LINE = f"gpuerror {HUNG_ERROR}\n"
DEFAULT_DOCKER_ROOT = "/var/lib/docker"
PART_NAME = "hvdocker-part"

T = TypeVar("T")


@dataclass
class Attempts:
    """Runs attempts to gather facts about `host`, and collects their errors in `failures`.

    A failed attempt does not stop the next ones, so one failure hides no other fact."""

    host: str
    failures: list[HvdockerError] = field(default_factory=list)

    def attempt(self, what: str, work: Callable[[], T]) -> T | None:
        """Return the result of `work`. If it fails, add the error to `failures` and return None.

        `what` describes the attempt in the error, such as `looking at the host`."""
        try:
            with translating_errors(self.host, what):
                return work()
        except HvdockerError as error:
            self.failures.append(error)
            return None


def see_machine(
    link: HostLink, root: str, mounts: Sequence[str], peers: Sequence[str], is_hung: bool = False, cluster: str = ""
) -> MachineSeen:
    """Read the machine's facts over the link.

    `root` is the folder where the engine stores images. `mounts` are paths whose disks are measured. `peers` are host
    names for the host to resolve. `cluster` is the cluster's name, empty if there is none.

    `is_hung` says that nvidia-smi did not answer in the usual observation. Then it is not called again: each further
    call would leave another process that cannot be killed. Raises HvdockerError if the script did not run to its
    end."""
    result = link.run(query_machine(root, mounts, peers, cluster=cluster), timeout_s=LOOK_TIMEOUT_S)
    seen = read_machine(result.text + (_HUNG_LINE if is_hung else _cards(link)))
    if seen is None:
        raise HvdockerError("the host could not be looked at", host=link.name, lines=result.tail(5))
    return seen


def _cards(link: HostLink) -> str:
    """Return the output of the command of `query_cards` (the GPU query), or a `gpuerror` line if the driver hangs."""
    try:
        return link.run(query_cards(), timeout_s=CARDS_TIMEOUT_S).text
    except CommandTimeout:
        return _HUNG_LINE


def see_clock(link: HostLink, now: Callable[[], float]) -> ClockSeen:
    """Read the host's clock CLOCK_TRIES times and return the reading with the shortest round trip.

    This reading is the most exact: its error is at most half of the round trip. `now` returns the controller's time.
    Raises HvdockerError if the clock cannot be read."""
    tries = [_ask_clock(link, now) for _ in range(CLOCK_TRIES)]
    return min(tries, key=lambda seen: seen.round_trip_s)


def _ask_clock(link: HostLink, now: Callable[[], float]) -> ClockSeen:
    here, started = now(), time.monotonic()
    result = link.run(clock(), timeout_s=CLOCK_TIMEOUT_S)
    took_s = time.monotonic() - started
    there = read_clock(result.text)
    if there is None:
        raise HvdockerError("its clock could not be read", host=link.name, lines=result.tail(3))
    return ClockSeen(there - (here + took_s / 2), took_s)


def see_engine(engine: APIClient, info: Mapping[str, Any], cluster: str) -> EngineState:
    """Return what the engine reports about itself, its containers and partly sent images.

    `info` is the engine's answer to /info. Its values are `Any` because they come from parsed JSON. `cluster` is the
    name of the cluster. It is needed to find a container that has the name of the cluster's worker but does not belong
    to the cluster."""
    status = {row[0]: str(row[1]) for row in info.get("DriverStatus") or () if len(row) > 1}
    return EngineState(
        storage_driver=info.get("Driver", "?"),
        backing=status.get("Backing Filesystem", ""),
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        cgroup_driver=info.get("CgroupDriver", "?"),
        security=security_options(info),
        root_dir=info.get("DockerRootDir") or "",
        warnings=tuple(info.get("Warnings") or ()),
        containers=see_containers(engine),
        incomplete_images=_parts(engine),
        foreign_container=_foreign_container(engine, cluster),
        has_own_image=bool(engine.images(filters={"label": [names.LABEL_IMAGE]})),
    )


def _foreign_container(engine: APIClient, cluster: str) -> str | None:
    """Return the name of a container that has the name of the cluster's worker but not the cluster's label.

    Return None if there is no such container."""
    name = names.worker_name(cluster)
    for container in engine.containers(all=True, filters={"name": name}):
        is_own = (container.get("Labels") or {}).get(names.LABEL_CLUSTER) == cluster
        if not is_own and f"/{name}" in (container.get("Names") or ()):
            return name
    return None


def _parts(engine: APIClient) -> tuple[str, ...]:
    found = engine.images(name=PART_NAME)
    return tuple(tag for image in found for tag in image.get("RepoTags") or ())
