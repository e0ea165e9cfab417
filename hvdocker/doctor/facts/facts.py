"""The facts that the doctor gathers about a host. Nothing is judged. None means that a fact is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.errors import HvdockerError
from hvdocker.locks.holder import Holder
from hvdocker.observe.state import ContainerSeen, HostSeen


@dataclass(frozen=True)
class DiskSeen:
    """`what` is the use of the disk: images, home, or mount (the source of a mount). The inode counts are
    None where the file system allocates inodes on demand."""

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
    """A process that uses a GPU, as nvidia-smi prints it; `gpu` is the UUID, `user` comes from /proc."""

    gpu: str
    pid: str
    name: str
    used_mb: str
    user: str


@dataclass(frozen=True)
class InfinibandPort:
    """A port of an InfiniBand or RoCE device, with the kernel's texts from /sys/class/infiniband."""

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
    """What the script of `facts/commands.py` read on the host; it needs no engine. `nvidia_cards` counts
    cards on the PCI bus, `clusters` are folders in ~/.hvdocker, `feeds` are folders left by image fan-outs.
    The SELinux and AppArmor fields come from the kernel; `EngineState.security` has the engine's view."""

    kernel: str = ""
    hostname: str = ""
    memory_bytes: int | None = None
    available_bytes: int | None = None
    cpus: int | None = None
    load: float | None = None
    disks: tuple[DiskSeen, ...] = ()
    can_write_home: bool = True
    gpus: tuple[GpuState, ...] = ()
    gpu_error: str | None = None
    gpu_processes: tuple[GpuProcessSeen, ...] = ()
    nvidia_cards: int = 0
    infiniband_ports: tuple[InfinibandPort, ...] = ()
    is_selinux_enforcing: bool | None = None
    has_apparmor: bool = False
    has_apparmor_parser: bool = False
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClockSeen:
    """How far the host's clock is ahead of the controller's. The error is at most half the round trip."""

    offset_s: float
    round_trip_s: float


@dataclass(frozen=True)
class EngineState:
    """What the engine reports. `containers` are those of all hvdocker clusters; `parts` are tags of images
    whose transfer did not finish; `security` are names of security options such as "rootless"."""

    storage_driver: str = "?"
    backing: str = ""
    cgroup_version: str = "?"
    cgroup_driver: str = "?"
    security: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    containers: tuple[ContainerSeen, ...] = ()
    parts: tuple[str, ...] = ()

    def has(self, option: str) -> bool:
        return option in self.security


@dataclass(frozen=True)
class InsideSeen:
    """What a process in a container of the image sees. A limit of None means unlimited."""

    versions: Mapping[str, str] = field(default_factory=dict)
    cuda: str | None = None
    shm_bytes: int | None = None
    memlock_bytes: int | None = None
    open_files: int | None = None


@dataclass(frozen=True)
class TrialResult:
    """The result of a short-lived container. `gpu_error` is set where it started only without the host's
    GPUs, `error` where it did not start at all. `is_substitute`: the host lacks the cluster's image, so
    another hvdocker image was used."""

    image: str
    inside: InsideSeen | None = None
    gpu_error: str | None = None
    error: str | None = None
    has_gpus: bool = False
    is_substitute: bool = False


@dataclass(frozen=True)
class CodeSeen:
    """`hash` is that of the last synced tree, `edited` are files that changed on the host since.
    `is_unfinished`: a sync was interrupted."""

    hash: str | None = None
    files: int = 0
    edited: tuple[str, ...] = ()
    is_unfinished: bool = False


@dataclass(frozen=True)
class HostFacts:
    """All facts about one host. `connect_error` is why the host could not be reached, `observe_error` why the
    ordinary observation failed, `failures` why single facts are missing. `login` is the SSH user and key."""

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
    failures: tuple[HvdockerError, ...] = ()
