"""What the doctor looked at on a host: numbers and words, nothing judged. What could not be seen is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.errors import HvdockerError
from hvdocker.locks.holder import Holder
from hvdocker.observe.state import ContainerSeen, HostSeen


@dataclass(frozen=True)
class DiskSeen:
    """`what` lies on it: images, home, or the source of a mount."""

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
    is_split: bool = False  # MIG: a job cannot use the whole of it


@dataclass(frozen=True)
class GpuProcess:
    gpu: str
    pid: str
    name: str
    used_mb: str
    user: str


@dataclass(frozen=True)
class FabricPort:
    """A port of an InfiniBand (or RoCE) device, in the kernel's words."""

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
    """What one script on the host says; no engine is needed for it."""

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
    gpu_processes: tuple[GpuProcess, ...] = ()
    nvidia_cards: int = 0
    fabric: tuple[FabricPort, ...] = ()
    is_selinux_enforcing: bool | None = None
    has_apparmor: bool = False
    has_apparmor_parser: bool = False
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClockSeen:
    """How far the host's clock is ahead of ours; half the round trip is how sure that is."""

    offset_s: float
    round_trip_s: float


@dataclass(frozen=True)
class EngineState:
    """`containers` are ours, of whichever cluster; `parts` are names of images that were half sent."""

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
    """What a container of the image sees. Limits are None where there is none."""

    versions: Mapping[str, str] = field(default_factory=dict)
    cuda: str | None = None
    shm_bytes: int | None = None
    memlock_bytes: int | None = None
    open_files: int | None = None


@dataclass(frozen=True)
class Trial:
    """A short-lived container. `gpu_error`: it did not start with the host's GPUs, but without them.
    `is_other`: the cluster's image is not there, and another of ours stood in for it."""

    image: str
    inside: InsideSeen | None = None
    gpu_error: str | None = None
    error: str | None = None
    has_gpus: bool = False
    is_other: bool = False


@dataclass(frozen=True)
class CodeSeen:
    """`hash` of what the last sync brought; `edited` are files that are no longer as it brought them."""

    hash: str | None = None
    files: int = 0
    edited: tuple[str, ...] = ()
    is_unfinished: bool = False


@dataclass(frozen=True)
class HostHealth:
    """All that was found out about one host, and why some of it could not be. `login`: who got in, and by
    which key."""

    name: str
    login: str | None = None
    unreached: HvdockerError | None = None
    seen: HostSeen | None = None
    unfit: HvdockerError | None = None
    machine: MachineSeen | None = None
    clock: ClockSeen | None = None
    engine: EngineState | None = None
    trial: Trial | None = None
    code: CodeSeen | None = None
    lock: Holder | None = None
    failures: tuple[HvdockerError, ...] = ()
