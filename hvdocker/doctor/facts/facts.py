"""The facts that the doctor gathers about a host. Nothing is judged. A value of None mostly means that the fact is
unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.errors import HvdockerError
from hvdocker.locks.holder import Holder
from hvdocker.observe.state import ContainerSeen, HostSeen


@dataclass(frozen=True)
class DiskSeen:
    """The size and free space of the disk at `path`.

    `what` says what the disk is used for: images (of the engine), home, tmp (for locks), or mount (a source of the
    inventory's mounts). The inode counts are None if they are unknown, or if the file system allocates inodes on
    demand."""

    what: str
    path: str
    total_bytes: int
    free_bytes: int
    inodes: int | None = None
    free_inodes: int | None = None


@dataclass(frozen=True)
class GpuState:
    index: int
    uuid: str
    model: str
    memory_mb: int | None = None
    used_mb: int | None = None
    driver: str = ""
    is_persistent: bool | None = None
    is_mig: bool = False  # MIG is on: a job cannot use the whole card


@dataclass(frozen=True)
class GpuProcessSeen:
    """A process that uses a GPU. `gpu` is the UUID of the GPU.

    `pid`, `name` and `used_mb` are texts of nvidia-smi. `user` comes from /proc, and is empty if it is unknown."""

    gpu: str
    pid: str
    name: str
    used_mb: str
    user: str


@dataclass(frozen=True)
class InfinibandPort:
    """A port of an InfiniBand or RoCE device. The texts are the kernel's, from /sys/class/infiniband.

    `state` is `ACTIVE` if the port can be used. `rate` is its speed, and `layer` is `InfiniBand` or `Ethernet`
    (RoCE)."""

    device: str
    port: str
    state: str
    rate: str = ""
    layer: str = ""

    @property
    def is_active(self) -> bool:
        return self.state.endswith("ACTIVE")


@dataclass(frozen=True)
class MachineSeen:
    """What the scripts of `facts/commands.py` read on the host, without its engine.

    `available_bytes` is the memory that new processes can get. `load` is the load average of the last minute. `user` is
    the SSH user's name. `unwritable` are the folders among the home, ~/.hvdocker, the cluster's folder in it and /tmp
    that this user may not write to. `gpus` are those that nvidia-smi lists, and `gpu_error` is why nvidia-smi failed.
    `nvidia_cards` is the number of NVIDIA cards on the PCI bus, with or without a driver. `resolved` has, by host name,
    the addresses to which the host resolves the name. `stale_feeds` are leftover folders in which hosts passed an image
    on to each other. `contexts` are the SELinux labels of ~/.hvdocker and of the mount sources, by path; an empty label
    means that the path does not exist or has no label. The SELinux and AppArmor fields come from the kernel;
    `EngineState.security` has what the engine says about them."""

    kernel: str = ""
    hostname: str = ""
    memory_bytes: int | None = None
    available_bytes: int | None = None
    cpus: int | None = None
    load: float | None = None
    disks: tuple[DiskSeen, ...] = ()
    user: str = ""
    unwritable: tuple[str, ...] = ()
    gpus: tuple[GpuState, ...] = ()
    gpu_error: str | None = None
    gpu_processes: tuple[GpuProcessSeen, ...] = ()
    nvidia_cards: int = 0
    infiniband_ports: tuple[InfinibandPort, ...] = ()
    is_selinux_enforcing: bool | None = None
    has_apparmor: bool = False
    has_apparmor_parser: bool = False
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stale_feeds: tuple[str, ...] = ()
    contexts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClockSeen:
    """How far the host's clock is ahead of the controller's: `offset_s`, negative if it is behind.

    The error of `offset_s` is at most half of `round_trip_s`, plus 1 s if the host's `date` tells only whole
    seconds."""

    offset_s: float
    round_trip_s: float


@dataclass(frozen=True)
class EngineState:
    """What the engine reports about itself.

    `backing` is the file system below the storage driver. `security` are names of security options such as "rootless".
    `root_dir` is the folder where the engine stores images. `containers` are those of all hvdocker clusters.
    `incomplete_images` are tags of images that were sent only in part, because the transfer did not finish.
    `foreign_container` is the name of a container that has the name of the cluster's worker but does not belong to the
    cluster, None if there is no such container. `has_own_image`: the engine has an hvdocker image, of any name."""

    storage_driver: str = "?"
    backing: str = ""
    cgroup_version: str = "?"
    cgroup_driver: str = "?"
    security: tuple[str, ...] = ()
    root_dir: str = ""
    warnings: tuple[str, ...] = ()
    containers: tuple[ContainerSeen, ...] = ()
    incomplete_images: tuple[str, ...] = ()
    foreign_container: str | None = None
    has_own_image: bool = False

    def has(self, option: str) -> bool:
        return option in self.security


@dataclass(frozen=True)
class InsideSeen:
    """What a process finds inside a container of the training image.

    `versions` has versions by name: `python`, and the frameworks and libraries that the image has, such as
    `tensorflow`, `torch`, `numpy` and `nccl`. `shm_bytes` is the size of /dev/shm. `cuda` is the CUDA version, None if
    the image has no CUDA. `memlock_bytes` and `open_files` are limits; None means unlimited."""

    versions: Mapping[str, str] = field(default_factory=dict)
    cuda: str | None = None
    shm_bytes: int | None = None
    memlock_bytes: int | None = None
    open_files: int | None = None


@dataclass(frozen=True)
class TrialResult:
    """The result of the trial container, a short-lived container that the doctor starts.

    `inside` is what a process found in the container, None if the trial failed. `error` is why the container did not
    start or gave no result. `has_gpus`: the container was to get the host's GPUs. If it failed with the GPUs and then
    worked without them, `gpu_error` is why it failed with them. `is_substitute`: the host lacks the cluster's image, so
    another hvdocker image was used."""

    image: str
    inside: InsideSeen | None = None
    gpu_error: str | None = None
    error: str | None = None
    has_gpus: bool = False
    is_substitute: bool = False


@dataclass(frozen=True)
class CodeSeen:
    """The code of the cluster on a host.

    `hash` is that of the last synced tree, None if nothing was synced. `files` is the number of files in that tree.
    `edited` are the paths that changed on the host since. `is_unfinished`: the last sync was interrupted."""

    hash: str | None = None
    files: int = 0
    edited: tuple[str, ...] = ()
    is_unfinished: bool = False


@dataclass(frozen=True)
class HostFacts:
    """All facts about one host. A fact is None if it could not be gathered, or was not asked for.

    `login` is the SSH user and key, as text (`kim, key /home/kim/.ssh/id_ed25519`). `connect_error` is why the host
    could not be reached. `seen` is the result of the usual observation, and `observe_error` is why that observation
    failed. `lock` is the holder of the host's lock, None also if the lock is free. `lock_error` is why nobody can take
    the lock, None if it can be taken. `failures` are the errors of the other facts that could not be gathered."""

    name: str
    login: str | None = None
    connect_error: HvdockerError | None = None
    seen: HostSeen | None = None
    observe_error: HvdockerError | None = None
    machine: MachineSeen | None = None
    clock: ClockSeen | None = None
    engine: EngineState | None = None
    trial: TrialResult | None = None
    code: CodeSeen | None = None
    lock: Holder | None = None
    lock_error: HvdockerError | None = None
    failures: tuple[HvdockerError, ...] = ()
