"""The steps that start a job. Pure: actions.py carries them out."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.plan.plan import Step
from hvdocker.shell.command import Command
from hvdocker.units import show_bytes


@dataclass(frozen=True)
class WriteJobFile(Step):
    """Write job.json, or another JSON file of the job (`name`), into the job's folder on a host.

    `from_caller` names the variables whose values came from the caller's environment: a script reads them
    there again. `is_shared`: the container's user is not the SSH user and must be able to
    read it."""

    folder: str
    content: str
    is_shared: bool = False
    from_caller: tuple[str, ...] = ()
    name: str = "job.json"

    def describe(self) -> str:
        return f"write {self.folder}/{self.name}"


@dataclass(frozen=True)
class WritePatch(Step):
    """Write the patch of the code against its commit into the job's folder on a host."""

    folder: str
    content: bytes

    def describe(self) -> str:
        return f"write {self.folder}/code.patch, {show_bytes(len(self.content))}"


@dataclass(frozen=True)
class CreateMaster(Step):
    """Create the job's master on its head, without starting it. `worker` is the head's worker, which has the
    SSH key."""

    spec: ContainerSpec
    worker: str
    launcher: tuple[str, ...]
    command: tuple[str, ...]

    def describe(self) -> str:
        line = Command((*self.launcher, *self.command)).line()
        return f"create {self.spec.name} from {self.spec.image}: {line}"
