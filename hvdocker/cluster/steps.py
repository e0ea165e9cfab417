"""Every kind of step. The stages and plans that are made of them are told in plan/stages.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.commands.command import Command
from hvdocker.commands.container import ContainerSpec
from hvdocker.commands.image_parts import remote_reference
from hvdocker.commands.ssh_files import Member
from hvdocker.model.job import Seat
from hvdocker.model.requirements import Requirements
from hvdocker.model.secret import SecretSource
from hvdocker.model.units import count, show_bytes
from hvdocker.plan.stages import CONTROLLER as CONTROLLER
from hvdocker.plan.stages import Plan as Plan
from hvdocker.plan.stages import Stage as Stage
from hvdocker.plan.stages import Step as Step
from hvdocker.plan.stages import by_host as by_host
from hvdocker.plan.stages import plan_of as plan_of


@dataclass(frozen=True)
class BuildImage(Step):
    image: str

    def describe(self) -> str:
        return f"build {self.image} (it is nowhere yet; this takes minutes)"


@dataclass(frozen=True)
class BuildLayer(Step):
    """Requirements on an image: `base` is its id on that host, `content` what it is on every host."""

    image: str
    base: str
    content: str
    key: str
    requirements: Requirements

    def describe(self) -> str:
        return f"install {self.requirements.source} as one layer: {self.image}"


@dataclass(frozen=True)
class ShipImage(Step):
    image: str
    source: str
    size_bytes: int = 0

    def describe(self) -> str:
        size = f", {show_bytes(self.size_bytes)}" if self.size_bytes else ""
        return f"load {self.image} from {self.source}{size}"


@dataclass(frozen=True)
class PushImage(Step):
    """From this machine to the registry that the hosts pull from."""

    image: str
    registry: str

    def describe(self) -> str:
        return f"push {self.image} to {self.registry}"


@dataclass(frozen=True)
class PullImage(Step):
    """`needs_label`: the image has to be one that workers can be made of. `content`: what it has to be,
    which is what `source` has; None where nobody has it."""

    image: str
    registry: str
    needs_label: bool = True
    content: str | None = None
    source: str = CONTROLLER

    def describe(self) -> str:
        return f"pull {remote_reference(self.image, self.registry)}"


@dataclass(frozen=True)
class Trust:
    """Who is in the cluster, and where its keys come from: `client_from` is the host whose worker has
    the client key already, None for a new one."""

    cluster: str
    port: int
    members: tuple[Member, ...]
    client_from: str | None = None
    client_container: str | None = None
    brought: tuple[str, str] | None = None
    known_host_keys: Mapping[str, str] = field(default_factory=dict)
    new_host_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class MakeKeys(Step):
    trust: Trust

    def describe(self) -> str:
        client = (
            f"take the client key from {self.trust.client_from}"
            if self.trust.client_from
            else ("use the client key you brought" if self.trust.brought else "make a client key")
        )
        new = ", ".join(self.trust.new_host_keys)
        return f"{client}, make host keys for {new}" if new else client


@dataclass(frozen=True)
class MakeFolders(Step):
    root: str
    paths: tuple[str, ...]
    is_shared: bool = False

    def describe(self) -> str:
        return f"make {self.root}"


@dataclass(frozen=True)
class MakeNetwork(Step):
    name: str
    subnet: str
    cluster: str

    def describe(self) -> str:
        return f"make the network {self.name} ({self.subnet})"


@dataclass(frozen=True)
class RemoveContainer(Step):
    name: str
    id: str
    why: str = ""

    def describe(self) -> str:
        return f"remove {self.name}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class StopJob(Step):
    job: str
    id: str

    def describe(self) -> str:
        return f"stop {self.job}, which is running"


@dataclass(frozen=True)
class CreateWorker(Step):
    spec: ContainerSpec
    address: str
    port: int

    def describe(self) -> str:
        return f"create {self.spec.name} from {self.spec.image}, sshd on {self.address}:{self.port}"


@dataclass(frozen=True)
class RefreshTrust(Step):
    container: str
    uid: int
    gid: int

    def describe(self) -> str:
        return f"tell {self.container} who is in the cluster"


@dataclass(frozen=True)
class WriteMembers(Step):
    """On the host, for the next `up`: whom its worker trusts now. Labels cannot change."""

    folder: str
    members: str

    def describe(self) -> str:
        return f"write {self.folder}/members"


@dataclass(frozen=True)
class JoinJob(Step):
    """A host takes part in a job that runs: it gets the code, the job's files and its secrets as the head has
    them. `source` and `folder` are the cluster's folders there and here; `worker` is not started yet;
    `is_new`: the job did not begin with this host."""

    job: str
    head: str
    source: str
    folder: str
    seat: Seat
    master: str
    worker: str
    uid: int
    gid: int
    devices: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    is_shared: bool = False
    is_new: bool = True

    @property
    def job_folder(self) -> str:
        return f"{self.folder}/jobs/{self.job}"

    @property
    def head_job_folder(self) -> str:
        return f"{self.source}/jobs/{self.job}"

    def describe(self) -> str:
        return f"join {self.job} with {count(self.seat.slots, 'slot')}: code and files from {self.head}"


@dataclass(frozen=True)
class TellMaster(Step):
    """`seats` are all hosts of its job, the head first; none where the job does not grow and shrink."""

    container: str
    uid: int
    gid: int
    seats: tuple[Seat, ...] = ()

    def describe(self) -> str:
        hosts = f", and that it has {', '.join(seat.name for seat in self.seats)}" if self.seats else ""
        return f"tell {self.container} about the workers{hosts}"


@dataclass(frozen=True)
class StartContainer(Step):
    name: str

    def describe(self) -> str:
        return f"start {self.name}"


@dataclass(frozen=True)
class AwaitSshd(Step):
    container: str
    address: str
    port: int

    def describe(self) -> str:
        return f"wait for sshd on {self.address}:{self.port}"


@dataclass(frozen=True)
class CheckMesh(Step):
    container: str
    members: tuple[str, ...]

    def describe(self) -> str:
        return f"log in from {self.host} to {', '.join(self.members)}"


@dataclass(frozen=True)
class SyncCode(Step):
    """`checks_contents`: files are compared by content, here and there, not by how they look."""

    source: str
    folder: str
    is_shared: bool = False
    checks_contents: bool = False

    def describe(self) -> str:
        how = ", comparing contents" if self.checks_contents else ""
        return f"sync {self.source} to {self.folder}{how}"


@dataclass(frozen=True)
class WriteJob(Step):
    folder: str
    content: str
    is_shared: bool = False
    from_caller: tuple[str, ...] = ()
    name: str = "job.json"

    def describe(self) -> str:
        return f"write {self.folder}/{self.name}"


@dataclass(frozen=True)
class WritePatch(Step):
    """What the job's code has beyond its commit."""

    folder: str
    content: bytes

    def describe(self) -> str:
        return f"write {self.folder}/code.patch, {show_bytes(len(self.content))}"


@dataclass(frozen=True)
class CreateMaster(Step):
    spec: ContainerSpec
    worker: str
    launcher: tuple[str, ...]
    command: tuple[str, ...]

    def describe(self) -> str:
        line = Command((*self.launcher, *self.command)).line()
        return f"create {self.spec.name} from {self.spec.image}: {line}"


@dataclass(frozen=True)
class PutSecrets(Step):
    """Into the container that runs this host's ranks. The values stand in no plan."""

    container: str
    uid: int
    gid: int
    job: str
    secrets: tuple[SecretSource, ...]
    is_master: bool = False

    def describe(self) -> str:
        return f"put {', '.join(secret.name for secret in self.secrets)} into {self.container}"


@dataclass(frozen=True)
class ForgetSecrets(Step):
    """What jobs that have ended may have left in a worker."""

    container: str
    jobs: tuple[str, ...]

    def describe(self) -> str:
        return f"remove what is left of the secrets of {', '.join(self.jobs)}"


@dataclass(frozen=True)
class EmptySecrets(Step):
    """In a master that was killed: nothing can run in it any more, so its files are overwritten."""

    container: str
    job: str
    names: tuple[str, ...]

    def describe(self) -> str:
        return f"empty the secrets of {self.job}, which was killed"


@dataclass(frozen=True)
class FetchJobs(Step):
    jobs: tuple[str, ...]

    def describe(self) -> str:
        return f"bring home outputs and logs of {', '.join(self.jobs)}"


@dataclass(frozen=True)
class RemoveTree(Step):
    path: str

    def describe(self) -> str:
        return f"remove {self.path}"


@dataclass(frozen=True)
class RemoveImage(Step):
    """By name, or by id where it has none; `why` it may go."""

    reference: str
    why: str
    size_bytes: int = 0

    def describe(self) -> str:
        size = f"{show_bytes(self.size_bytes)}, " if self.size_bytes else ""
        return f"remove the image {self.reference} ({size}{self.why})"


@dataclass(frozen=True)
class RemoveNetwork(Step):
    name: str

    def describe(self) -> str:
        return f"remove the network {self.name}"
