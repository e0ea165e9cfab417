"""The steps that start a job. Pure: actions.py carries them out."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.plan.plan import Step
from hvdocker.shell.command import Command
from hvdocker.units import show_bytes


@dataclass(frozen=True)
class WriteJobFile(Step):
    """Write job.json, or another JSON file of the job (`name`), into the job's folder (`folder`) on a host. `content`
    is the text of the file.

    `from_caller` names the variables whose values came from the caller's environment. If the plan is printed as a shell
    script, the script reads these values from its own environment instead of containing them. `is_shared` means that
    other users than the SSH user may read the file; it is set for job.json if the container's user is neither root nor
    the SSH user."""

    folder: str
    content: str
    is_shared: bool = False
    from_caller: tuple[str, ...] = ()
    name: str = "job.json"

    def describe(self) -> str:
        return f"write {self.folder}/{self.name}"


@dataclass(frozen=True)
class WritePatch(Step):
    """Write code.patch, the changes of the code since its git commit, into the job's folder (`folder`) on a host.
    `content` is the patch."""

    folder: str
    content: bytes

    def describe(self) -> str:
        return f"write {self.folder}/code.patch, {show_bytes(len(self.content))}"


@dataclass(frozen=True)
class CreateMaster(Step):
    """Create the job's master on its head, without starting it.

    `spec` is the container to create. `worker` is the name of the worker on the head, from which the SSH key and SSH
    files are copied. The other fields are only shown to the user. `launcher` are words that say how the ranks are
    started, `command` is the command line of the ranks. `choice` names the launcher and what chose it; it is empty
    if nothing chose one, so that the default launcher is used."""

    spec: ContainerSpec
    worker: str
    launcher: tuple[str, ...]
    command: tuple[str, ...]
    choice: str = ""

    def describe(self) -> str:
        line = Command((*self.launcher, *self.command)).line()
        why = f", launcher {self.choice}" if self.choice else ""
        return f"create {self.spec.name} from {self.spec.image}{why}: {line}"
