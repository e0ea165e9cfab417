"""The values that an observation of hosts returns. Pure: decides nothing.

Every container that hvdocker creates carries labels. From these any controller can rebuild the state of a cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """A container that hvdocker created, as it was observed.

    `id` and `image_id` are those of the engine. `state` is the engine's word, such as `exited`. `created` is in Unix
    seconds. `exit_code` is None unless the container has exited."""

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
        """Whether the container runs, is paused or is being restarted, and so holds its slots and GPUs."""
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
        """A hash of the requirements (Python packages) in the container's image, and of the image on which they were
        installed.

        None without requirements. The hash is a label of the image, which the container inherits."""
        return self.labels.get(names.LABEL_REQUIREMENTS)

    @property
    def launcher(self) -> str:
        """The name of the launcher. For a master (the container of a job on its head), that of the job. For a worker,
        the default launcher of the image.

        Empty if the container was made by a version that had only one launcher."""
        return self.labels.get(names.LABEL_LAUNCHER, "")

    @property
    def ranks(self) -> int | None:
        """The number of ranks of this master's job, or None if there are as many ranks as slots."""
        told = self.labels.get(names.LABEL_RANKS, "")
        return int(told) if told.isascii() and told.isdecimal() else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets of this container's job, never their values."""
        return tuple(filter(None, self.labels.get(names.LABEL_SECRETS, "").split(",")))

    @property
    def placement(self) -> Placement:
        """The slots and GPUs that the job of this master got at its start. Empty for other containers."""
        return placement_from_label(self.labels.get(names.LABEL_PLACEMENT, "{}"))

    @property
    def elastic(self) -> Elastic | None:
        """The bounds of the number of ranks, if this is the master of an elastic job. Otherwise None."""
        return Elastic.read(self.labels.get(names.LABEL_ELASTIC, ""))

    @property
    def devices(self) -> tuple[str, ...]:
        """The UUIDs of the GPUs that the container holds."""
        return tuple(filter(None, self.labels.get(names.LABEL_GPUS, "").split(",")))

    def has_joined(self, master: ContainerSeen) -> bool:
        """Whether this container is a worker that was added to the job of `master` while the job ran.

        A worker that was created but never started has not joined. An interrupted `up` left it, and the next `up`
        replaces it."""
        is_of_job = bool(master.job) and self.labels.get(names.LABEL_JOINED) == master.job
        return is_of_job and self.cluster == master.cluster and self.state != "created"

    @property
    def joined_share(self) -> Share:
        """The slots and GPUs that a running job got when this worker's host joined the job.

        It has no slots if the host joined no job."""
        told = self.labels.get(names.LABEL_SHARE, "")
        slots = int(told) if told.isdecimal() else 0
        return Share(self.host, slots, self.devices[:slots])

    @property
    def base_content(self) -> str | None:
        """The content hash of the image on which the requirements were installed. None for an image without
        requirements."""
        return self.labels.get(names.LABEL_BASE)


@dataclass(frozen=True)
class ImageSeen:
    """An image on one engine.

    `id` is the name that this engine gives the image: the digest of the configuration on a classic engine, the digest
    of a manifest in containerd's store. It is valid on that engine only. `content` is a hash of the image that is equal
    on all engines. So images of different hosts are compared by `content`. A worker's image is compared with another
    image on the same host by `id`. `is_ours` means that the image was made for hvdocker. `layers` are the digests of
    its uncompressed layers. `labels` are those labels of the image that are hvdocker's."""

    id: str
    architecture: str
    size_bytes: int
    is_ours: bool
    layers: tuple[str, ...] = ()
    content: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.content:
            object.__setattr__(self, "content", self.id)


def image_content(inspected: Mapping[str, Any]) -> str:
    """Return a hash of an image: of its architecture, its layers and the settings that decide how a container runs.

    `inspected` is an engine's answer about the image. The hash is equal on every engine. Settings without a value
    are ignored, because some engines leave them out and others write them as null or empty. Values are `Any` because
    they come from parsed JSON."""
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
    """Return the digests of the uncompressed layers of an image. `inspected` is an engine's answer about the image.

    Values are `Any` because they come from parsed JSON."""
    return tuple((inspected.get("RootFS") or {}).get("Layers") or ())


@dataclass(frozen=True)
class EngineSeen:
    """A Docker engine, as it was observed.

    `architecture` is the name of uname (`x86_64`) or of images (`amd64`): `docker_arch` accepts both. `id` is the
    engine's own id, `security` are the names of its security options, and `root_dir` is the folder where it stores
    images. These and `cpus` are empty if the engine was not asked for its `info`."""

    version: str
    architecture: str
    memory_bytes: int
    cpus: int | None = None
    id: str = ""
    security: tuple[str, ...] = ()
    root_dir: str = ""


@dataclass(frozen=True)
class HostSeen:
    """The observed state of one host.

    `uid`, `gid` and `home` are those of the SSH user. `containers` are those of the observed cluster,
    `other_containers` those of other clusters. `image` is the cluster's image, None if the host does not have it.
    `gpu_error` says why nothing is known about the GPUs, though the host should have some. `gpu_notes` are texts about
    warnings of the driver and cards that cannot be used. `reached_at` is the host's address to which the controller
    connected, empty if unknown. `listening_ports` are the TCP ports on which processes listen, but only the worker's
    port if the cluster's worker already runs on it. `missing_paths` are mount sources that do not exist,
    `unreadable_paths` those that the SSH user may not read. `boot_id` is the kernel's id of this boot.
    `home_free_bytes` is the free space in the home, None if unknown. `cluster_dir` is the cluster's folder on the host,
    None if there is none. `job_folders` are the names of the job folders in it. `needs_sudo` means that the engine is
    reached only through sudo. `addresses` are those of all interfaces. `members_line` is the content of the file
    `members` in `cluster_dir` (cluster/plan/members.py), empty without it. `groups` are the supplementary groups of the
    SSH user."""

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
    unreadable_paths: tuple[str, ...] = ()
    boot_id: str = ""
    image: ImageSeen | None = None
    containers: tuple[ContainerSeen, ...] = ()
    other_containers: tuple[ContainerSeen, ...] = ()
    job_folders: tuple[str, ...] = ()
    cluster_dir: str | None = None
    # The line of the file `members`: the hosts that this host's worker trusts. Empty if there is no such file.
    members_line: str = ""
    home_free_bytes: int | None = None
    needs_sudo: bool = False
    # The supplementary groups of the SSH user, by number.
    groups: tuple[int, ...] = ()

    @property
    def gpu_problem(self) -> str:
        """Why none of the host's GPUs can be used. Empty if some can be used, or if the host has none."""
        return self.gpu_error or ("" if self.gpus else "; ".join(self.gpu_notes))

    def worker(self, name: str) -> ContainerSeen | None:
        """Return the worker of the host `name`, or None.

        The name is needed because the hosts of a local cluster share one engine, which has the workers of all of
        them."""
        return next((c for c in self.containers if c.role == names.ROLE_WORKER and c.host == name), None)

    @property
    def masters(self) -> tuple[ContainerSeen, ...]:
        return tuple(c for c in self.containers if c.role == names.ROLE_MASTER)


@dataclass(frozen=True)
class NetworkSeen:
    """The networks of the controller's engine, for a local cluster (all workers on the controller).

    `own_subnet` is the subnet of the cluster's network, None if there is none yet. `subnets_taken` are the subnets of
    all networks."""

    own_subnet: str | None = None
    subnets_taken: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterState:
    """The observed state of a cluster. `hosts` are in the inventory's order.

    `network`, `controller_image` and `controller_engine` come from the controller's own engine, which is asked only for
    a local cluster or if images are needed. `controller_engine` is needed only to build the image, so it is None also
    if `controller_image` is set. `controller_problem` says why the controller's engine could not be asked. It is empty
    if that engine was asked or is not needed."""

    hosts: Mapping[str, HostSeen]
    network: NetworkSeen = NetworkSeen()
    controller_image: ImageSeen | None = None
    controller_engine: EngineSeen | None = None
    controller_problem: str = ""

    def workers(self) -> dict[str, ContainerSeen]:
        found = {name: host.worker(name) for name, host in self.hosts.items()}
        return {name: worker for name, worker in found.items() if worker}

    def masters(self) -> list[ContainerSeen]:
        """Return the masters of all jobs, newest first.

        Each master is returned once, though the hosts of a local cluster share an engine and all report it."""
        by_id = {c.id: c for host in self.hosts.values() for c in host.masters}
        return sorted(by_id.values(), key=lambda c: c.created, reverse=True)

    def host_of(self, container: ContainerSeen) -> str:
        """Return the name of the host whose engine has the container. The container must be one of this state.

        If several hosts share the engine (a local cluster), the container's host label decides."""
        ids = {name: {one.id for one in host.containers} for name, host in self.hosts.items()}
        having = [name for name in self.hosts if container.id in ids[name]]
        return container.host if container.host in having else having[0]

    def running_jobs(self) -> list[ContainerSeen]:
        """Return the masters of the jobs that hold slots. This includes paused jobs."""
        return [master for master in self.masters() if master.is_living]

    def placement_of(self, master: ContainerSeen) -> Placement:
        """Return the slots and GPUs that the job of `master` has now.

        They are those that it got at its start, and those of hosts that joined it later."""
        first = master.placement
        joined = [worker.joined_share for worker in self.workers().values() if worker.has_joined(master)]
        return Placement((*first.shares, *(share for share in joined if share.host not in first.hosts)))
