"""The request of a `train`: its flags, and the inputs that are read for them on the controller. Contacts no host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker.env import Env
from hvdocker.errors import UsageProblem
from hvdocker.images.requirements import Requirements
from hvdocker.inventory.locate import Located, at_home
from hvdocker.jobs.capsule.store import StoredCapsule
from hvdocker.launchers.choose import check_launcher_flags, known_launcher
from hvdocker.launchers.launcher import Launcher
from hvdocker.placement.slot_flags import SlotFlags, check_named_hosts, check_slot_flags
from hvdocker.protocol.resilience import Resilience
from hvdocker.secret import Secret, SecretSource, parse_secrets
from hvdocker.training import queue
from hvdocker.training.inputs.job_environment import job_environment
from hvdocker.training.inputs.read_secrets import read_secret
from hvdocker.training.inputs.resilience_flags import ResilienceFlags, resilience_of
from hvdocker.training.inputs.user_command import UserCommand, user_command
from hvdocker.training.requirements import find_requirements


@dataclass(frozen=True)
class TrainRequest:
    """The flags of `train`, as the user gave them.

    Field names are stored in capsules (make_capsule.request_fields), so a replay of an older job would not find a
    renamed field. `rest` are the arguments of the script or module, or a whole command if neither is given. `hosts` is
    the value of -H; `strategy`, `gpu`, `include` and `exclude` are the values of the flags with these names.
    `requirements` is the value of --requirements; `ignores_requirements` is --no-requirements. `workdir` is the folder
    to sync, None for that of the script, or the current folder if there is no script. `env` and `secrets` are the
    values of --env and --secret. `launcher` is the value of --launcher, None if the inventory or the image decides.
    `tuning` are flags that are passed to the launcher. `start_timeout_s` is how long the launcher waits for the ranks
    to start, None without --start-timeout. `fails_fast` is --fail-fast. `checksum` makes the sync compare all files by
    content. `propagates_exit` makes `train` exit with the code of the rank that failed. `lock_wait_s` is how long to
    wait for the locks of the hosts. `is_forced` allows a job on another user's cluster, and on an image that seems to
    lack a framework. `replay` is the capsule of the job that this one repeats, None unless it is a replay. The field of
    type ResilienceFlags has the flags on failures and hangs."""

    script: str | None = None
    module: str | None = None
    rest: tuple[str, ...] = ()
    np: int | None = None
    hosts: str | None = None
    strategy: str | None = None
    gpu: str | None = None
    include: str | None = None
    exclude: str | None = None
    workdir: Path | None = None
    requirements: Path | None = None
    ignores_requirements: bool = False
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    start_timeout_s: int | None = None
    tuning: tuple[str, ...] = ()
    launcher: str | None = None
    fails_fast: bool = False
    endurance: ResilienceFlags = field(default_factory=ResilienceFlags)
    propagates_exit: bool = False
    checksum: bool = False
    is_detached: bool = False
    is_queued: bool = False
    is_dry_run: bool = False
    accept_new_host_keys: bool = False
    # Long enough for another `train` to start its job. If two race for the same slots, the second gets the locks
    # after that, and can report who holds the slots.
    lock_wait_s: float = 60.0
    is_forced: bool = False
    # The capsule of the job that this one repeats; None unless it is a replay.
    replay: StoredCapsule | None = None

    @property
    def slot_flags(self) -> SlotFlags:
        return SlotFlags(self.np, self.hosts, self.strategy, self.gpu, self.include, self.exclude)


@dataclass(frozen=True)
class JobInputs:
    """A request of `train` with everything that was read for it on the controller.

    `requirements` are the Python requirements of the job, None if there are none. `variables` are the environment
    variables of the ranks. `secrets` has the value of each secret by its source. `resilience` has the checked flags on
    failures and hangs."""

    request: TrainRequest
    user_command: UserCommand
    requirements: Requirements | None
    variables: Mapping[str, str]
    secrets: Mapping[SecretSource, Secret[bytes]]
    resilience: Resilience = field(default_factory=Resilience)


def prepare_inputs(env: Env, located: Located, request: TrainRequest) -> JobInputs:
    """Check the request and read everything that it needs from the controller. Raises UsageProblem if a flag or a file
    is wrong.

    Call this once per job, because a secret may come from a pipe, which can be read only once."""
    check_request(request)
    check_named_hosts(request.slot_flags, located.inventory)
    resilience = resilience_of(request.endurance, request.np, request.hosts, located.inventory.rules)
    if known := known_launcher(request.launcher, located.inventory.launcher):
        check_launcher(known.launcher, request, resilience)
    work = user_command(env.cwd, request.script, request.module, request.rest, request.workdir)
    requirements = _requirements(env, request, work)
    variables = job_environment(located.inventory.env, list(request.env), env.environ)
    secrets = {source: read_secret(env.cwd, source, env.environ) for source in parse_secrets(request.secrets)}
    return JobInputs(request, work, requirements, variables, secrets, resilience)


def check_request(request: TrainRequest) -> None:
    """Raise UsageProblem for flags that are invalid or exclude each other."""
    queue.check_flags(request.is_queued, request.is_detached, request.is_dry_run)
    check_slot_flags(request.slot_flags)
    if request.requirements and request.ignores_requirements:
        raise UsageProblem("--requirements and --no-requirements exclude each other")
    if request.propagates_exit and request.is_detached:
        raise UsageProblem("--propagate-exit and -d exclude each other: detached, nobody waits for the end")


def check_launcher(launcher: Launcher, request: TrainRequest, resilience: Resilience) -> None:
    """Raise UsageProblem if flags of the request do not go with the launcher. This is done before a host is contacted
    if a flag or the inventory names the launcher, and otherwise when the image has been observed."""
    has_start_timeout = request.start_timeout_s is not None
    is_elastic = resilience.elastic is not None
    check_launcher_flags(launcher, request.tuning, is_elastic, request.fails_fast, has_start_timeout)


def _requirements(env: Env, request: TrainRequest, work: UserCommand) -> Requirements | None:
    """Return the parsed requirements file. Return None if there is no such file, or if --no-requirements is given.

    This is the file that --requirements names, else requirements.txt in the folder of the script. For a module or a
    command (`work`) it is requirements.txt in the folder that is synced."""
    if request.ignores_requirements:
        return None
    script = (env.cwd / at_home(Path(request.script))).resolve() if request.script else None
    return find_requirements(env.cwd, request.requirements, script.parent if script else work.source)
