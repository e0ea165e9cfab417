"""The steps that start a job."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.plan.plan import Step
from hvdocker.shell.command import Command
from hvdocker.units import show_bytes


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
