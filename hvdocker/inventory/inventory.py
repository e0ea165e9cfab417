"""An inventory: the hosts, how to reach them, and what their containers get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.names import DEFAULT_IMAGE
from hvdocker.protocol.resilience import Rule
from hvdocker.units import MEBI

# Below this a process is of no consequence: a desktop, or a monitor that only asks.
BUSY_BYTES = 500 * MEBI


@dataclass(frozen=True)
class SshSettings:
    """How to log in. What is None comes from ~/.ssh/config, then from OpenSSH's own defaults."""

    user: str | None = None
    port: int | None = None
    key: str | None = None
    jump: str | None = None

    def over(self, general: SshSettings) -> SshSettings:
        return SshSettings(
            user=self.user or general.user,
            port=self.port or general.port,
            key=self.key or general.key,
            jump=self.jump or general.jump,
        )


@dataclass(frozen=True)
class Host:
    name: str
    host: str
    address: str | None = None
    slots: int | None = None
    ssh: SshSettings = SshSettings()
    is_local: bool = False


@dataclass(frozen=True)
class Mount:
    source: str
    target: str
    is_read_only: bool = False

    def bind(self) -> str:
        return f"{self.source}:{self.target}:{'ro' if self.is_read_only else 'rw'}"


@dataclass(frozen=True)
class KeyPair:
    """Paths of a pair that a user brings."""

    private: str
    public: str


@dataclass(frozen=True)
class Inventory:
    cluster: str
    hosts: tuple[Host, ...]
    image: str = DEFAULT_IMAGE
    # Else the image depends on whether hosts have GPUs.
    has_named_image: bool = False
    port: int | None = None
    network: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    shm_bytes: int | None = None
    memory_bytes: int | None = None
    cpus: float | None = None
    user: str = "host"
    keys: KeyPair | None = None
    registry: str | None = None
    gpu_busy_bytes: int = BUSY_BYTES
    rules: tuple[Rule, ...] = ()

    @property
    def is_local(self) -> bool:
        return any(host.is_local for host in self.hosts)

    def named(self, name: str) -> Host:
        return next(host for host in self.hosts if host.name == name)


def local_hosts(count: int) -> tuple[Host, ...]:
    """Workers that share this machine's engine, each with an address of its own."""
    return tuple(Host(name=f"w{n}", host="localhost", is_local=True) for n in range(1, count + 1))
