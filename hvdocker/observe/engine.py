"""Queries to a Docker engine: its version and resources, images, containers and networks. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from docker import APIClient

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.cluster_image import image_of_cluster
from hvdocker.observe.probe import ProbeAnswer
from hvdocker.observe.state import (
    ClusterState,
    ContainerSeen,
    EngineSeen,
    ImageSeen,
    NetworkSeen,
    image_content,
    image_layers,
)
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.local_engine import local_engine
from hvdocker.transport.pool import for_each_host


@dataclass(frozen=True)
class EngineAnswers:
    """What the engine of a host answered.

    `image` is the cluster's image, or None if the engine does not have it. `containers` are those of this cluster,
    `other_containers` those of other clusters. `info` is the engine's answer to `docker info`. It is None if
    the engine was not asked for it, because the engine already runs the cluster's worker."""

    version: str
    info: dict[str, Any] | None  # Any: parsed JSON
    image: ImageSeen | None
    containers: tuple[ContainerSeen, ...]
    other_containers: tuple[ContainerSeen, ...] = ()

    def engine(self, answer: ProbeAnswer) -> EngineSeen:
        """Return the values of the engine, from its own answers and from `answer`, the output of the probe (the script
        of probe.py).

        If the probe has the memory of the host, that value is used, so that it is the same whether the engine was asked
        for `info` or not. Without `info`, the architecture is that of the image, or `?`."""
        memory_bytes = answer.number("memory", 0) * 1024
        if self.info is None:
            arch = self.image.architecture if self.image else "?"
            return EngineSeen(self.version, arch, memory_bytes)
        engine = _read_engine_info(self.info)
        return replace(engine, memory_bytes=memory_bytes) if memory_bytes else engine


def ask_engine(link: HostLink, inventory: Inventory) -> EngineAnswers:
    """Ask the engine for the cluster's image, for the containers of all clusters, and, only if needed, for its `info`
    (as `docker info` shows it).

    `info` is slow, because the engine starts programs to answer it. It is not needed if the engine already runs this
    cluster's worker from the cluster's image, or from that image with a requirements layer (installed Python packages):
    such an engine is known to be fit. The version needs no request, because the engine names it in its answer to the
    ping with which the API client connects."""
    engine = link.engine()
    own, others = see_own_and_other_containers(engine, inventory.cluster)
    image = see_image(engine, image_of_cluster(inventory, own))
    info = None if _runs_current_worker(image, own) else engine.info()
    return EngineAnswers(engine.engine_version, info, image, own, others)


def _runs_current_worker(image: ImageSeen | None, containers: Iterable[ContainerSeen]) -> bool:
    if image is None:
        return False
    workers = [seen for seen in containers if seen.role == names.ROLE_WORKER and seen.is_running]
    return any(seen.image_id == image.id or seen.base_content == image.content for seen in workers)


def see_own_and_other_containers(
    engine: APIClient, cluster: str
) -> tuple[tuple[ContainerSeen, ...], tuple[ContainerSeen, ...]]:
    """Return the containers of the cluster named `cluster`, and those of other clusters, from one engine call."""
    found = see_containers(engine)
    own = tuple(seen for seen in found if seen.cluster == cluster)
    return own, tuple(seen for seen in found if seen.cluster != cluster)


def see_containers(engine: APIClient) -> tuple[ContainerSeen, ...]:
    """Return all containers that carry the cluster label, of any cluster, running or not."""
    found = engine.containers(all=True, filters={"label": [names.LABEL_CLUSTER]})
    return tuple(
        ContainerSeen(
            id=entry["Id"],
            name=entry["Names"][0].lstrip("/") if entry.get("Names") else entry["Id"][:12],
            state=entry["State"],
            image_id=entry["ImageID"],
            labels=entry.get("Labels") or {},
            created=entry["Created"],
            exit_code=_exit_code(entry.get("Status", "")),
        )
        for entry in found
    )


def _exit_code(status: str) -> int | None:
    """Read the exit code from a status such as `Exited (137) 2 hours ago`. Return None if there is none.

    In the engine's list of containers, only this text has the exit code."""
    found = re.match(r"Exited \((\d+)\)", status)
    return int(found[1]) if found else None


def _read_engine_info(info: Mapping[str, Any]) -> EngineSeen:
    """Return the values of `EngineSeen` that are in `info`, the engine's answer to `docker info`.

    Values of `info` are `Any` because they come from parsed JSON."""
    return EngineSeen(
        version=info.get("ServerVersion", "?"),
        architecture=info.get("Architecture", "?"),
        memory_bytes=info.get("MemTotal", 0),
        cpus=info.get("NCPU") or None,
        id=info.get("ID") or "",
        security=security_options(info),
        root_dir=info.get("DockerRootDir") or "",
    )


def security_options(info: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the security options in `info`, the engine's answer to `docker info`, such as `rootless` from
    `name=rootless`.

    Values are `Any` because they come from parsed JSON."""
    options = info.get("SecurityOptions") or ()
    return tuple(str(option).partition(",")[0].removeprefix("name=") for option in options)


def see_image(engine: APIClient, reference: str) -> ImageSeen | None:
    """Return the image with the tag or id `reference`, or None if the engine does not have it."""
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
        labels={name: value for name, value in labels.items() if name.startswith(names.LABEL_PREFIX)},
    )


def see_controller(inventory: Inventory, with_images: bool) -> ClusterState:
    """Return a state without hosts: only what is known about the controller's own engine.

    The engine is asked only if the cluster is local (all workers on the controller) or `with_images` is set. With
    `with_images` the cluster's image is looked for. If the image is not found, or not looked for, `controller_engine`
    is read too. The networks are read only for a local cluster. Values that are not read are empty. If the controller
    has no engine, all values are empty, and `controller_problem` says why."""
    if not inventory.is_local and not with_images:
        return ClusterState(hosts={})
    found = local_engine()
    engine = found.client
    if engine is None:
        return ClusterState(hosts={}, controller_problem=found.problem)
    try:
        image = see_image(engine, inventory.image) if with_images else None
        return ClusterState(
            hosts={},
            network=_see_network(engine, inventory) if inventory.is_local else NetworkSeen(),
            controller_image=image,
            # Needed only if the image is missing, to find out whether it can be built on the controller.
            controller_engine=None if image else _read_engine_info(engine.info()),
        )
    finally:
        engine.close()


def see_images(links: Mapping[str, HostLink], references: Mapping[str, str]) -> dict[str, ImageSeen]:
    """Return the images of several hosts, by host. Hosts that do not have their image are left out.

    `links` has the open links to the hosts. `references` has the tag or id of the image to look for on each host.
    Raises HvdockerError if a host does not answer."""

    def see(name: str) -> ImageSeen | None:
        with translating_errors(name, "looking at its images"):
            return see_image(links[name].engine(), references[name])

    found = for_each_host(references, see).or_raise("some hosts do not answer")
    return {name: image for name, image in found.items() if image}


def see_controller_image(reference: str) -> ImageSeen | None:
    """Return the image with the tag or id `reference` from the controller's own engine.

    Return None if the controller has no engine, or if the engine does not have the image."""
    engine = local_engine().client
    if engine is None:
        return None
    try:
        return see_image(engine, reference)
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
