"""What was observed on the hosts: past tense, nothing decided."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hvdocker import names
from hvdocker.observe.gpu import GpuSeen
from hvdocker.protocol.placement import Placement, Share, from_label
from hvdocker.protocol.resilience import Elastic

# What of an image's configuration decides how its containers run. The rest differs between engines.
_CONFIG_THAT_MATTERS = (
    "Cmd",
    "Entrypoint",
    "Env",
    "ExposedPorts",
    "Healthcheck",
    "Labels",
    "OnBuild",
    "Shell",
    "StopSignal",
    "User",
    "Volumes",
    "WorkingDir",
)


@dataclass(frozen=True)
class ContainerSeen:
    id: str
    name: str
    state: str
    image_id: str
    labels: Mapping[str, str]
    created: int = 0
    exit_code: int | None = None

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def is_living(self) -> bool:
        """It has a process, so it holds what it was given."""
        return self.state in ("running", "paused", "restarting")

    @property
    def role(self) -> str:
        return self.labels.get(names.LABEL_ROLE, "")

    @property
    def cluster(self) -> str:
        return self.labels.get(names.LABEL_CLUSTER, "")

    @property
    def owner(self) -> str:
        return self.labels.get(names.LABEL_OWNER, "")

    @property
    def job(self) -> str:
        return self.labels.get(names.LABEL_JOB, "")

    @property
    def host(self) -> str:
        return self.labels.get(names.LABEL_HOST, "")

    @property
    def requirements(self) -> str | None:
        """The key of the requirements in its image: engines hand an image's labels on to containers."""
        return self.labels.get(names.LABEL_REQUIREMENTS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of its job's secrets."""
        return tuple(filter(None, self.labels.get(names.LABEL_SECRETS, "").split(",")))

    @property
    def placement(self) -> Placement:
        """Of a master: what its job was given when it began."""
        return from_label(self.labels.get(names.LABEL_PLACEMENT, "{}"))

    @property
    def elastic(self) -> Elastic | None:
        """Of a master: within which bounds its job grows and shrinks."""
        return Elastic.read(self.labels.get(names.LABEL_ELASTIC, ""))

    @property
    def devices(self) -> tuple[str, ...]:
        """Of a worker: the GPUs that it holds."""
        return tuple(filter(None, self.labels.get(names.LABEL_GPUS, "").split(",")))

    def has_joined(self, master: ContainerSeen) -> bool:
        """Whether it is a worker that was made for that job while it ran. One that was never started is made
        anew."""
        is_of_job = bool(master.job) and self.labels.get(names.LABEL_JOINED) == master.job
        return is_of_job and self.cluster == master.cluster and self.state != "created"

    @property
    def joined_share(self) -> Share:
        """What the job that it joined took of it."""
        told = self.labels.get(names.LABEL_SHARE, "")
        slots = int(told) if told.isdecimal() else 0
        return Share(self.host, slots, self.devices[:slots])

    @property
    def base(self) -> str | None:
        """The content of the image that the requirements were put on."""
        return self.labels.get(names.LABEL_BASE)


@dataclass(frozen=True)
class ImageSeen:
    """`id` is the engine's own word: the configuration's digest, or a manifest's where images lie in
    containerd's store. It names the image on its own engine only; `content` is equal on all engines."""

    id: str
    architecture: str
    size_bytes: int
    is_ours: bool
    layers: tuple[str, ...] = ()
    content: str = ""

    def __post_init__(self) -> None:
        if not self.content:
            object.__setattr__(self, "content", self.id)


def image_content(inspected: Mapping[str, Any]) -> str:
    """A hash over what an image is, from any engine's answer. Any: it is the engine's JSON; engines leave
    out, or write as null, what others write as empty."""
    config = inspected.get("Config") or {}
    kept = {name: config[name] for name in _CONFIG_THAT_MATTERS if config.get(name)}
    whole = {
        "architecture": inspected.get("Architecture"),
        "os": inspected.get("Os"),
        "layers": image_layers(inspected),
        "config": kept,
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def image_layers(inspected: Mapping[str, Any]) -> tuple[str, ...]:
    """Any: as above."""
    return tuple((inspected.get("RootFS") or {}).get("Layers") or ())


@dataclass(frozen=True)
class EngineSeen:
    version: str
    architecture: str
    memory_bytes: int
    cpus: int | None = None


@dataclass(frozen=True)
class HostSeen:
    """One probe's answer. `containers` are only those of the cluster that was asked about, `others` those of
    other clusters. `gpu_error` is why nothing is known of its GPUs, where it should have some; `gpu_notes`
    are about cards that cannot be used."""

    name: str
    uid: int
    gid: int
    home: str
    engine: EngineSeen
    reached_at: str = ""
    addresses: tuple[str, ...] = ()
    listening_ports: frozenset[int] = frozenset()
    gpus: tuple[GpuSeen, ...] = ()
    gpu_error: str = ""
    gpu_notes: tuple[str, ...] = ()
    missing_paths: tuple[str, ...] = ()
    free_bytes: int | None = None
    image: ImageSeen | None = None
    containers: tuple[ContainerSeen, ...] = ()
    others: tuple[ContainerSeen, ...] = ()
    job_folders: tuple[str, ...] = ()
    cluster_dir: str | None = None
    # Whom its worker was last told to trust; empty where that is not known.
    members: str = ""
    home_device: str = ""
    home_free_bytes: int | None = None
    needs_sudo: bool = False

    @property
    def gpu_problem(self) -> str:
        """Why none of its GPUs can be given away, where it should have some."""
        return self.gpu_error or ("" if self.gpus else "; ".join(self.gpu_notes))

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
        ids = {name: {one.id for one in host.containers} for name, host in self.hosts.items()}
        having = [name for name in self.hosts if container.id in ids[name]]
        return container.host if container.host in having else having[0]

    def running_jobs(self) -> list[ContainerSeen]:
        """Those that hold slots: also one that somebody paused."""
        return [master for master in self.masters() if master.is_living]

    def placement_of(self, master: ContainerSeen) -> Placement:
        """What its job has: what it was given when it began, and what joined it since."""
        first = master.placement
        joined = [worker.joined_share for worker in self.workers().values() if worker.has_joined(master)]
        return Placement((*first.shares, *(share for share in joined if share.host not in first.hosts)))
