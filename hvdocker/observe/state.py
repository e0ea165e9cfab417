"""Values for what was observed on the hosts. Pure: decides nothing.

Labels are the source of truth: every container of ours carries labels, from which any controller can rebuild
the state of a cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hvdocker import names
from hvdocker.observe.gpu import GpuSeen
from hvdocker.protocol.placement import Placement, Share, placement_from_label
from hvdocker.protocol.resilience import Elastic

# The settings of an image that decide how its containers run. The other settings differ between engines.
_CONFIG_KEYS = (
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
    """A container of ours. `state` is the engine's word, like `exited`; `created` is in Unix seconds."""

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
        """Whether it has a process, and so holds its slots and GPUs."""
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
    def requirements_key(self) -> str | None:
        """The key of the requirements in its image, or None. Containers inherit the labels of their image."""
        return self.labels.get(names.LABEL_REQUIREMENTS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of its job's secrets."""
        return tuple(filter(None, self.labels.get(names.LABEL_SECRETS, "").split(",")))

    @property
    def placement(self) -> Placement:
        """The slots and devices that a master's job got at its start. Empty without the label, as on a worker."""
        return placement_from_label(self.labels.get(names.LABEL_PLACEMENT, "{}"))

    @property
    def elastic(self) -> Elastic | None:
        """For a master: the bounds of an elastic job; None for other jobs."""
        return Elastic.read(self.labels.get(names.LABEL_ELASTIC, ""))

    @property
    def devices(self) -> tuple[str, ...]:
        """The UUIDs of the GPUs that the container holds."""
        return tuple(filter(None, self.labels.get(names.LABEL_GPUS, "").split(",")))

    def has_joined(self, master: ContainerSeen) -> bool:
        """Whether this is a worker that was created for the master's job while the job ran.

        A worker that was never started has not joined: an interrupted `up` left it, the next replaces it."""
        is_of_job = bool(master.job) and self.labels.get(names.LABEL_JOINED) == master.job
        return is_of_job and self.cluster == master.cluster and self.state != "created"

    @property
    def joined_share(self) -> Share:
        """The share of this host in the job that its worker joined."""
        told = self.labels.get(names.LABEL_SHARE, "")
        slots = int(told) if told.isdecimal() else 0
        return Share(self.host, slots, self.devices[:slots])

    @property
    def base_content(self) -> str | None:
        """The content hash of the image below the requirements layer; None without requirements."""
        return self.labels.get(names.LABEL_BASE)


@dataclass(frozen=True)
class ImageSeen:
    """An image on one engine.

    `id` is the engine's own name for it: the digest of the configuration on a classic engine, the digest of a
    manifest in containerd's store. It is valid on that engine only. `content` is equal on all engines (see
    `image_content`). So images of several hosts are compared by `content`, and a worker with the image on its
    own host by `id`."""

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
    """Return a hash over architecture, layers and those settings that decide how a container runs.

    It is equal on every engine. Settings without a value are ignored, because engines variously leave them
    out, or write them as null or empty. Any: the engine's JSON."""
    config = inspected.get("Config") or {}
    kept = {name: config[name] for name in _CONFIG_KEYS if config.get(name)}
    whole = {
        "architecture": inspected.get("Architecture"),
        "os": inspected.get("Os"),
        "layers": image_layers(inspected),
        "config": kept,
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def image_layers(inspected: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the digests of the uncompressed layers. Any: the engine's JSON."""
    return tuple((inspected.get("RootFS") or {}).get("Layers") or ())


@dataclass(frozen=True)
class EngineSeen:
    """A Docker engine. `architecture` is uname's name; `cpus` is None if the engine was not asked."""

    version: str
    architecture: str
    memory_bytes: int
    cpus: int | None = None


@dataclass(frozen=True)
class HostSeen:
    """The observed state of one host.

    `containers` are those of the observed cluster, `other_containers` those of other clusters. `gpu_error`
    says why nothing is known about its GPUs, though it should have some. `gpu_notes` are about cards that
    cannot be used. `reached_at` is the address by which the controller reached it. `missing_paths` are mount
    sources that do not exist. `cluster_dir` is the cluster's folder, None if there is none. `home_device` is
    the device of the file system with the home folder."""

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
    other_containers: tuple[ContainerSeen, ...] = ()
    job_folders: tuple[str, ...] = ()
    cluster_dir: str | None = None
    # The hosts that its worker trusts, as in the file `members`; empty if there is none.
    members_line: str = ""
    home_device: str = ""
    home_free_bytes: int | None = None
    needs_sudo: bool = False
    # The supplementary groups of the SSH user, by number.
    groups: tuple[int, ...] = ()

    @property
    def gpu_problem(self) -> str:
        """Why none of its GPUs can be used; empty if some can, or if it has none."""
        return self.gpu_error or ("" if self.gpus else "; ".join(self.gpu_notes))

    def worker(self, name: str) -> ContainerSeen | None:
        """Return the worker of the host `name`: the workers of a local cluster share one engine."""
        return next((c for c in self.containers if c.role == names.ROLE_WORKER and c.host == name), None)

    @property
    def masters(self) -> tuple[ContainerSeen, ...]:
        return tuple(c for c in self.containers if c.role == names.ROLE_MASTER)


@dataclass(frozen=True)
class NetworkSeen:
    """The networks of the controller's engine, for a local cluster.

    `own_subnet` is the subnet of the cluster's network, None if there is none yet."""

    own_subnet: str | None = None
    subnets_taken: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterState:
    """The observed state of a cluster: its hosts in the inventory's order, and the controller's engine."""

    hosts: Mapping[str, HostSeen]
    network: NetworkSeen = NetworkSeen()
    controller_image: ImageSeen | None = None
    controller_engine: EngineSeen | None = None

    def workers(self) -> dict[str, ContainerSeen]:
        found = {name: host.worker(name) for name, host in self.hosts.items()}
        return {name: worker for name, worker in found.items() if worker}

    def masters(self) -> list[ContainerSeen]:
        """Return the container of every job, newest first; once, though local workers share an engine."""
        by_id = {c.id: c for host in self.hosts.values() for c in host.masters}
        return sorted(by_id.values(), key=lambda c: c.created, reverse=True)

    def host_of(self, container: ContainerSeen) -> str:
        """Return the host whose engine has the container; if hosts share an engine, the host of its label."""
        ids = {name: {one.id for one in host.containers} for name, host in self.hosts.items()}
        having = [name for name in self.hosts if container.id in ids[name]]
        return container.host if container.host in having else having[0]

    def running_jobs(self) -> list[ContainerSeen]:
        """Return the masters that hold slots. This includes paused ones."""
        return [master for master in self.masters() if master.is_living]

    def placement_of(self, master: ContainerSeen) -> Placement:
        """Return what the job holds now: its shares at the start, and those of the hosts that joined it."""
        first = master.placement
        joined = [worker.joined_share for worker in self.workers().values() if worker.has_joined(master)]
        return Placement((*first.shares, *(share for share in joined if share.host not in first.hosts)))
