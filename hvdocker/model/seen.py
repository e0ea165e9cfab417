"""What was observed on the hosts: past tense, nothing decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.model import names


@dataclass(frozen=True)
class GpuSeen:
    index: int
    uuid: str
    model: str


@dataclass(frozen=True)
class ContainerSeen:
    id: str
    name: str
    state: str
    image_id: str
    labels: Mapping[str, str]
    created: int = 0

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def role(self) -> str:
        return self.labels.get(names.LABEL_ROLE, "")

    @property
    def job(self) -> str:
        return self.labels.get(names.LABEL_JOB, "")

    @property
    def host(self) -> str:
        return self.labels.get(names.LABEL_HOST, "")


@dataclass(frozen=True)
class ImageSeen:
    id: str
    architecture: str
    size_bytes: int
    is_ours: bool


@dataclass(frozen=True)
class EngineSeen:
    version: str
    architecture: str
    cpus: int
    memory_bytes: int
    storage_driver: str = ""


@dataclass(frozen=True)
class HostSeen:
    """One probe's answer. `containers` are only those of the cluster that was asked about."""

    name: str
    uid: int
    gid: int
    home: str
    engine: EngineSeen
    reached_at: str = ""
    addresses: tuple[str, ...] = ()
    listening_ports: frozenset[int] = frozenset()
    gpus: tuple[GpuSeen, ...] = ()
    missing_paths: tuple[str, ...] = ()
    free_bytes: int | None = None
    image: ImageSeen | None = None
    containers: tuple[ContainerSeen, ...] = ()
    job_folders: tuple[str, ...] = ()
    cluster_dir: str | None = None
    home_device: str = ""
    needs_sudo: bool = False

    def worker(self, name: str) -> ContainerSeen | None:
        return next((c for c in self.containers if c.role == names.ROLE_WORKER and c.host == name), None)

    @property
    def masters(self) -> tuple[ContainerSeen, ...]:
        return tuple(c for c in self.containers if c.role == names.ROLE_MASTER)


@dataclass(frozen=True)
class NetworkSeen:
    """Networks of this machine's engine, for a local cluster."""

    own_subnet: str | None = None
    subnets_taken: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterState:
    hosts: Mapping[str, HostSeen]
    network: NetworkSeen = NetworkSeen()
    controller_image: ImageSeen | None = None
    controller_engine: EngineSeen | None = None

    def workers(self) -> dict[str, ContainerSeen]:
        found = {name: host.worker(name) for name, host in self.hosts.items()}
        return {name: worker for name, worker in found.items() if worker}

    def masters(self) -> list[ContainerSeen]:
        """Every job's container once (hosts of a local cluster share an engine), newest first."""
        by_id = {c.id: c for host in self.hosts.values() for c in host.masters}
        return sorted(by_id.values(), key=lambda c: c.created, reverse=True)

    def host_of(self, container: ContainerSeen) -> str:
        """The host whose engine has the container; by its own label where hosts share an engine."""
        if container.host in self.hosts:
            return container.host
        return next(name for name, host in self.hosts.items() if container in host.containers)

    def running_jobs(self) -> list[ContainerSeen]:
        return [master for master in self.masters() if master.is_running]
