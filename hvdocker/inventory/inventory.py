"""The parsed inventory: the hosts, how to log in to them, and the settings of their containers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.names import DEFAULT_IMAGE
from hvdocker.protocol.resilience import Rule
from hvdocker.units import MIB

# GPU memory below which foreign processes do not count: a desktop, or a monitor that only queries.
BUSY_BYTES = 500 * MIB
HANDSHAKE_TIMEOUT_S = 30


@dataclass(frozen=True)
class SshSettings:
    """How to log in to a host. A setting that is None is taken from ~/.ssh/config, or else is OpenSSH's own default.

    `key` is the path of a private key. `jump` has the jump hosts, as `user@host:port` with commas between them.
    `handshake_timeout` is in seconds. It is never taken from ~/.ssh/config: None means HANDSHAKE_TIMEOUT_S."""

    user: str | None = None
    port: int | None = None
    key: str | None = None
    jump: str | None = None
    handshake_timeout: int | None = None

    @property
    def handshake_limit_s(self) -> int:
        return self.handshake_timeout or HANDSHAKE_TIMEOUT_S

    def with_defaults(self, general: SshSettings) -> SshSettings:
        """Return these settings, with each setting that is None here taken from `general`, such as the `ssh:` of all
        hosts."""
        return SshSettings(
            user=self.user or general.user,
            port=self.port or general.port,
            key=self.key or general.key,
            jump=self.jump or general.jump,
            handshake_timeout=self.handshake_timeout or general.handshake_timeout,
        )


@dataclass(frozen=True)
class Host:
    """One host. `name` is hvdocker's name for the host. `host` is the name or address that ssh connects to.

    `address` is the host's IP address on the training network. `slots` is how many ranks fit. fields.py describes what
    applies if `address` or `slots` is None. `is_local` marks a host of a local cluster, whose workers all run on the
    controller."""

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
        """Return the mount in Docker's form source:target:mode."""
        return f"{self.source}:{self.target}:{'ro' if self.is_read_only else 'rw'}"


@dataclass(frozen=True)
class KeyPair:
    """The paths of the two files of a key pair that the user provides for use inside the cluster."""

    private: str
    public: str


@dataclass(frozen=True)
class Inventory:
    """All settings of a cluster. None means that the key is not set; fields.py describes each key and its default.

    `has_named_image` is False if neither the inventory nor a flag names an image; hvdocker then chooses one of its own
    images. `forced_image` is the image that `up --image` names (this `up` or an earlier one), or that `image push`
    pushes. It is empty if there is none. Otherwise `image` is the same, and other images in the labels of workers are
    ignored. `launcher` is the name of the launcher of jobs, None if the image decides. A GPU counts as used if
    processes that hvdocker did not start use `gpu_busy_bytes` or more of its memory, or an unknown amount. `rules` say
    which lines of a job's output remove a host from the job, or prevent a restart of the job."""

    cluster: str
    hosts: tuple[Host, ...]
    image: str = DEFAULT_IMAGE
    # If False, the image depends on whether hosts have GPUs, unless `forced_image` is given.
    has_named_image: bool = False
    # The image that `up --image` named, now or when the workers were made, or that `image push` pushes; else empty.
    forced_image: str = ""
    launcher: str | None = None
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
    """Return hosts w1, w2, … for the workers of a local cluster, which all run on the controller's engine. Their
    addresses are chosen later, in the plan."""
    return tuple(Host(name=f"w{n}", host="localhost", is_local=True) for n in range(1, count + 1))
