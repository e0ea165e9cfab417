"""Steps, stages and plans. A step says what to do on one host; stages follow each other; the steps of a
stage run on all hosts at once, those of one host in order. Within a wave hosts do not wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hvdocker.commands.command import Command
from hvdocker.commands.container import ContainerSpec
from hvdocker.commands.image_parts import remote_reference
from hvdocker.commands.ssh_files import Member
from hvdocker.model.requirements import Requirements
from hvdocker.model.secret import SecretSource
from hvdocker.model.units import show_bytes

CONTROLLER = "this machine"


@dataclass(frozen=True)
class Step:
    host: str

    def describe(self) -> str:
        raise NotImplementedError


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
        return f"{client}, make host keys for {', '.join(self.trust.new_host_keys)}"


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
        return f"tell {self.container} about the new workers"


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


@dataclass(frozen=True)
class Stage:
    """It begins when all hosts are done with the stage before; with `follows_on` each host goes on alone."""

    name: str
    steps: tuple[Step, ...]
    follows_on: bool = False


@dataclass(frozen=True)
class Plan:
    verb: str
    cluster: str
    stages: tuple[Stage, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(stage.steps for stage in self.stages)

    @property
    def steps(self) -> Iterator[Step]:
        return (step for stage in self.stages for step in stage.steps)

    def waves(self) -> list[list[Stage]]:
        """Stages that hosts go through without waiting for each other."""
        found: list[list[Stage]] = []
        for stage in self.stages:
            if stage.follows_on and found:
                found[-1].append(stage)
            else:
                found.append([stage])
        return found

    def lines(self) -> list[str]:
        """How a plan prints itself, one line per step."""
        return [
            f"{stage.name:<10} {step.host:<14} {step.describe()}"
            for stage in self.stages
            for step in stage.steps
        ]


def by_host(wave: Sequence[Stage]) -> dict[str, list[tuple[str, Step]]]:
    """What each host does in a wave, in order, with the names of the stages."""
    hosts: dict[str, list[tuple[str, Step]]] = {}
    for stage in wave:
        for step in stage.steps:
            hosts.setdefault(step.host, []).append((stage.name, step))
    return hosts


def plan_of(verb: str, cluster: str, *stages: tuple[str, list[Step]] | Stage) -> Plan:
    """Stages with nothing in them are left out."""
    made = [stage if isinstance(stage, Stage) else Stage(stage[0], tuple(stage[1])) for stage in stages]
    return Plan(verb, cluster, tuple(stage for stage in made if stage.steps))
