"""Photographs the hosts: one probe and a few engine calls each, all hosts at once. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from docker import APIClient

from hvdocker.commands.command import command
from hvdocker.commands.probe import (
    ProbeAnswer,
    listeners,
    listening_ports,
    probe,
    reached_address,
    read_probe,
)
from hvdocker.errors import HostUnfit, HvdockerError, raise_together
from hvdocker.hosts.link import HostLink
from hvdocker.hosts.local import own_engine
from hvdocker.hosts.pool import Outcomes, each
from hvdocker.hosts.ssh import EngineAccess, SshLink
from hvdocker.hosts.translate import talking
from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import (
    ClusterState,
    ContainerSeen,
    EngineSeen,
    GpuSeen,
    HostSeen,
    ImageSeen,
    NetworkSeen,
    image_content,
    image_layers,
)

PROBE_TIMEOUT_S = 30.0
_USUAL_ROOT = "/var/lib/docker"


def observe(inventory: Inventory, links: Mapping[str, HostLink]) -> Outcomes[HostSeen]:
    return each(links, lambda name: _see_host(inventory, links[name]))


def whole_state(
    inventory: Inventory,
    links: Mapping[str, HostLink],
    with_images: bool = True,
    unreached: Iterable[HvdockerError] = (),
) -> ClusterState:
    """Every host's state, or an error that names all hosts that cannot be reached (`unreached`) or are
    not fit."""
    with ThreadPoolExecutor(max_workers=1) as beside:
        here = beside.submit(_see_controller, inventory, with_images)
        outcomes = observe(inventory, links)
    raise_together("some hosts cannot be used", [*unreached, *outcomes.failed.values()])
    return replace(here.result(), hosts=_in_order(inventory, outcomes.done))


def as_state(inventory: Inventory, hosts: Mapping[str, HostSeen], with_images: bool) -> ClusterState:
    return replace(_see_controller(inventory, with_images), hosts=_in_order(inventory, hosts))


def _in_order(inventory: Inventory, hosts: Mapping[str, HostSeen]) -> dict[str, HostSeen]:
    return {host.name: hosts[host.name] for host in inventory.hosts if host.name in hosts}


def _see_controller(inventory: Inventory, with_images: bool) -> ClusterState:
    """A state with no hosts in it yet."""
    engine = own_engine() if inventory.is_local or with_images else None
    if engine is None:
        return ClusterState(hosts={})
    try:
        image = _see_image(engine, inventory.image) if with_images else None
        return ClusterState(
            hosts={},
            network=_see_network(engine, inventory) if inventory.is_local else NetworkSeen(),
            controller_image=image,
            # Only who lacks the image has to know whether it could be built here.
            controller_engine=None if image else _as_engine(engine.info()),
        )
    finally:
        engine.close()


@dataclass(frozen=True)
class _EngineAnswers:
    info: dict[str, Any]  # Any: the engine's JSON
    image: ImageSeen | None
    containers: tuple[ContainerSeen, ...]


def _ask_engine(link: HostLink, inventory: Inventory) -> _EngineAnswers:
    engine = link.engine()
    return _EngineAnswers(
        engine.info(), _see_image(engine, inventory.image), see_containers(engine, inventory.cluster)
    )


def _look(inventory: Inventory, link: HostLink) -> tuple[ProbeAnswer, _EngineAnswers]:
    """The engine is asked where it usually is while the probe finds out where it truly is: mostly there."""
    with ThreadPoolExecutor(max_workers=1) as beside:
        guess = beside.submit(_ask_engine, link, inventory)
        answer = _probe(link, inventory)
    is_right = link.use_engine(choose_access(answer, link)) if isinstance(link, SshLink) else True
    if is_right and guess.exception() is None:
        return answer, guess.result()
    return answer, _ask_engine(link, inventory)


def _see_host(inventory: Inventory, link: HostLink) -> HostSeen:
    with talking(link.name, "looking at the host"):
        answer, told = _look(inventory, link)
        return HostSeen(
            name=link.name,
            uid=answer.number("uid", 0),
            gid=answer.number("gid", 0),
            home=answer.values.get("home", ""),
            engine=_as_engine(told.info),
            reached_at=reached_address(answer),
            addresses=tuple(dict.fromkeys(answer.all("address"))),
            listening_ports=_listening(link, inventory, told.containers),
            gpus=_gpus(answer),
            missing_paths=tuple(answer.all("missing")),
            free_bytes=_free_bytes(link, answer, told.info),
            image=told.image,
            containers=told.containers,
            job_folders=tuple(answer.all("job")),
            cluster_dir=answer.values.get("clusterdir"),
            home_device=answer.values.get("homefs", ""),
            needs_sudo=isinstance(link, SshLink) and link.needs_sudo,
        )


def _listening(link: HostLink, inventory: Inventory, seen: Iterable[ContainerSeen]) -> frozenset[int]:
    """Where the host's worker runs on the port that it should, nobody else can be in its way."""
    for container in seen:
        port = container.labels.get(names.LABEL_PORT, "")
        is_own = container.role == names.ROLE_WORKER and container.host == link.name
        if is_own and container.is_running and port.isdigit() and port == str(inventory.port or port):
            return frozenset({int(port)})
    return listening_ports(read_probe(link.run(listeners(), timeout_s=PROBE_TIMEOUT_S).text))


def _probe(link: HostLink, inventory: Inventory) -> ProbeAnswer:
    words = probe(inventory.cluster, link.name, [mount.source for mount in inventory.mounts])
    result = link.run(words, timeout_s=PROBE_TIMEOUT_S)
    answer = read_probe(result.text)
    if not answer.is_whole:
        raise HostUnfit(
            "the host could not be probed: its shell did not run our script",
            lines=result.tail(),
            fix="a POSIX sh has to be on the PATH",
        )
    if answer.all("lacks"):
        raise HostUnfit(f"the host lacks {', '.join(answer.all('lacks'))}", fix="install what is missing")
    return answer


def choose_access(answer: ProbeAnswer, link: SshLink) -> EngineAccess:
    """The socket where this user may open it, else the docker CLI through passwordless sudo."""
    sockets = answer.all("socket")
    for line in sockets:
        verdict, _, path = line.partition(" ")
        if verdict == "ok":
            return EngineAccess(socket=path, has_cli="cli" in answer.values)
    has_cli, has_sudo = "cli" in answer.values, "sudo" in answer.values
    if sockets and has_cli and has_sudo:
        return EngineAccess(socket=None, needs_sudo=True)
    if sockets:
        raise HostUnfit(
            "this user may not open the Docker socket",
            host=link.name,
            command="docker version",
            lines=[f"permission denied: {sockets[0].partition(' ')[2]}"],
            fix="on the host: sudo usermod -aG docker $USER (or allow passwordless sudo), then log in again",
        )
    raise HostUnfit(
        "no Docker engine is running: there is no Docker socket",
        host=link.name,
        command="docker version",
        lines=["the docker CLI is there, the engine is not" if has_cli else "docker is not installed"],
        fix="sudo systemctl start docker" if has_cli else "install Docker: sudo apt-get install docker.io",
    )


def see_containers(engine: APIClient, cluster: str) -> tuple[ContainerSeen, ...]:
    """Those that carry this cluster's label, and no others."""
    found = engine.containers(all=True, filters={"label": [f"{names.LABEL_CLUSTER}={cluster}"]})
    return tuple(
        ContainerSeen(
            id=entry["Id"],
            name=entry["Names"][0].lstrip("/") if entry.get("Names") else entry["Id"][:12],
            state=entry["State"],
            image_id=entry["ImageID"],
            labels=entry.get("Labels") or {},
            created=entry["Created"],
        )
        for entry in found
    )


def _free_bytes(link: HostLink, answer: ProbeAnswer, info: Mapping[str, Any]) -> int | None:
    """Where the engine keeps its images, which need not be where engines usually do. Any: its JSON."""
    root = info.get("DockerRootDir", _USUAL_ROOT)
    if root != _USUAL_ROOT:
        fields = link.run(command("df", "-Pk", root)).text.splitlines()[-1:]
        free = fields[0].split()[3:4] if fields else []
        return int(free[0]) * 1024 if free and free[0].isdigit() else None
    return answer.number("free", 0) * 1024 or None


def _as_engine(info: Mapping[str, Any]) -> EngineSeen:
    """Any: the engine's JSON."""
    return EngineSeen(
        version=info.get("ServerVersion", "?"),
        architecture=info.get("Architecture", "?"),
        cpus=info.get("NCPU", 0),
        memory_bytes=info.get("MemTotal", 0),
        storage_driver=info.get("Driver", ""),
    )


def _see_image(engine: APIClient, reference: str) -> ImageSeen | None:
    from docker.errors import ImageNotFound

    try:
        found = engine.inspect_image(reference)
    except ImageNotFound:
        return None
    labels = (found.get("Config") or {}).get("Labels") or {}
    return ImageSeen(
        id=found["Id"],
        architecture=found["Architecture"],
        size_bytes=found.get("Size", 0),
        is_ours=names.LABEL_IMAGE in labels,
        layers=image_layers(found),
        content=image_content(found),
    )


def see_images(links: Mapping[str, HostLink], references: Mapping[str, str]) -> dict[str, ImageSeen]:
    """One image per host, by reference; hosts that lack theirs are left out."""

    def see(name: str) -> ImageSeen | None:
        with talking(name, "looking at its images"):
            return _see_image(links[name].engine(), references[name])

    found = each(references, see).or_raise("some hosts do not answer")
    return {name: image for name, image in found.items() if image}


def see_own_image(reference: str) -> ImageSeen | None:
    """This machine's, where it has an engine."""
    engine = own_engine()
    if engine is None:
        return None
    try:
        return _see_image(engine, reference)
    finally:
        engine.close()


def _see_network(engine: APIClient, inventory: Inventory) -> NetworkSeen:
    own: str | None = None
    taken: list[str] = []
    for network in engine.networks():
        for block in (network.get("IPAM") or {}).get("Config") or []:
            subnet = block.get("Subnet")
            if not subnet:
                continue
            taken.append(subnet)
            if (network.get("Labels") or {}).get(names.LABEL_CLUSTER) == inventory.cluster:
                own = subnet
    return NetworkSeen(own, tuple(taken))


def _gpus(answer: ProbeAnswer) -> tuple[GpuSeen, ...]:
    found = []
    for line in answer.all("gpu"):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) >= 3 and fields[0].isdigit():
            found.append(GpuSeen(int(fields[0]), fields[1], fields[2]))
    return tuple(found)
