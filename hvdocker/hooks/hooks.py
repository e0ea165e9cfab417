"""Runs the hooks in .hvdocker/hooks/ before and after verbs.

A failed `pre-` hook stops its verb; any other failed hook is only a note. No lock is held while a hook runs, because a
hook that calls hvdocker would otherwise wait for a lock of the command that called the hook."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hvdocker.env import Env
from hvdocker.errors import ExitCode, HvdockerError, UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located

HOOK_NAMES = ("pre-up", "post-up", "pre-train", "post-train", "on-failure", "pre-down")
# In the environment of a hook: the names of the running hooks, outermost first. If a hook calls a verb, that verb
# does not run these hooks again.
HOOK_VARIABLE = "HVDOCKER_HOOK"

OutputSink = Callable[[bytes], None]


def discard_output(line: bytes) -> None:
    """Ignore a line that a hook printed. This is the default of `Hooks.on_output`."""


@dataclass
class VerbExit:
    """The exit code of a verb that finished without an exception.

    The verb sets `code` inside `Hooks.around`, and the `post-` hook gets this code."""

    code: int = 0


@dataclass(frozen=True)
class Hooks:
    """The user's hooks, as one hvdocker command runs them. `verb` is the verb of that command, such as `train`.

    With `is_skipped` (the flag --skip-hooks) no hook runs. `on_output` receives each line that a hook prints. `job` and
    `hosts` are the id and the hosts of the command's job; both are empty until a job has started. Hooks get them as
    environment variables."""

    env: Env
    located: Located
    verb: str
    is_skipped: bool = False
    on_output: OutputSink = discard_output
    job: str = ""
    hosts: tuple[str, ...] = ()

    def for_cluster(self, located: Located) -> Hooks:
        """Return these hooks for another cluster.

        The verb `run` needs this, because every `run` creates a cluster of its own."""
        return replace(self, located=located)

    def with_job(self, job: str, hosts: tuple[str, ...]) -> Hooks:
        return replace(self, job=job, hosts=hosts)

    def before(self, what: str) -> None:
        """Run the hook `pre-<what>`; `what` is a verb, such as `up`. Do nothing if there is no such hook.

        Raise HvdockerError, which stops the verb, if the hook fails or its file cannot be trusted."""
        name = f"pre-{what}"
        try:
            self._run(name, None)
        except _HookFailed as error:
            raise error.as_error(f"the hook {name} {error.how}, so nothing was done") from None

    def after(self, what: str, code: int) -> None:
        """Run the hook `post-<what>`; `what` is a verb, such as `up`, and `code` the verb's exit code.

        Do nothing if there is no such hook. If the hook fails, send only a note."""
        self._run_or_note(f"post-{what}", code)

    def failed(self, error: BaseException) -> None:
        """Run the hook `on-failure`. `error` is the error that ended the verb; the hook gets its exit code.

        The hook does not run for a UsageProblem, because then the verb has not changed anything. If the hook itself
        fails, send only a note."""
        if not isinstance(error, UsageProblem):
            self._run_or_note("on-failure", exit_code_of(error))

    @contextmanager
    def around(self, what: str) -> Iterator[VerbExit]:
        """Run the hook `pre-<what>` before the `with` block and `post-<what>` after it; `what` is a verb, such as `up`.

        If the block or the `pre-` hook raises, run `on-failure` (see `failed`) instead of `post-<what>` and raise the
        exception again. Use this only for a verb that is finished when the block ends. The block may set the exit code
        for the `post-` hook in the VerbExit."""
        end = VerbExit()
        with self.on_failure():
            self.before(what)
            yield end
            self.after(what, end.code)

    @contextmanager
    def on_failure(self) -> Iterator[None]:
        """If the `with` block raises, run the hook `on-failure` (see `failed`) and raise the exception again."""
        try:
            yield
        except BaseException as error:
            self.failed(error)
            raise

    def _run_or_note(self, name: str, code: int) -> None:
        try:
            self._run(name, code)
        except _HookFailed as error:
            last = f": {error.lines[-1]}" if error.lines else ""
            self.env.listener(Event("note", f"the hook {name} {error.how}{last}"))
        except HvdockerError as error:
            self.env.listener(Event("note", error.what))

    def _run(self, name: str, code: int | None) -> None:
        path = self._find_hook(name)
        if path is None:
            return
        from hvdocker.hooks.run_hook import run_hook

        self.env.listener(Event("hook", name))
        try:
            end = run_hook(path, self.located.folder, self._variables(name, code), self.on_output)
        except OSError as error:
            raise _HookFailed(path, f"cannot be run: {error.strerror}") from error
        self.env.listener(Event("hook", name, is_end=True))
        if end.code:
            how = f"was killed by signal {-end.code}" if end.code < 0 else f"failed with exit code {end.code}"
            raise _HookFailed(path, how, end.last_lines)

    def _find_hook(self, name: str) -> Path | None:
        """Return the path of the file of the hook `name`, such as `pre-up`, or None if the hook is not to be run.

        It is not to be run if hooks are skipped, if the file is missing or not executable, or if this command was
        itself called, directly or not, by that hook. A note names a file that is not executable. Raise HvdockerError if
        another user may have changed the file or its folder."""
        path = self.located.state / "hooks" / name
        if self.is_skipped or name in self.running or not path.exists():
            return None
        from os import X_OK, access

        from hvdocker.hooks.run_hook import trust_problem

        for part in (path.parent, path):
            if trouble := trust_problem(part):
                raise HvdockerError(
                    f"{part} is not run: {trouble.what}", fix=f"{trouble.fix}; or leave hooks out: --skip-hooks"
                )
        if path.is_dir() or not access(path, X_OK):
            make = shlex.join(("chmod", "+x", str(path)))
            self.env.listener(Event("note", f"the hook {name} is not executable, and left out: {make}"))
            return None
        return path

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the hooks from which this command was called, outermost first. Empty if no hook called it."""
        return tuple(filter(None, self.env.environ.get(HOOK_VARIABLE, "").split(",")))

    def _variables(self, name: str, code: int | None) -> dict[str, str]:
        """Return the environment variables for the hook `name`: those of this command, and some of hvdocker.

        These are HVDOCKER_VERB, HVDOCKER_CLUSTER, HVDOCKER_INVENTORY, HVDOCKER_HOSTS (the hosts of the job, or all
        hosts of the inventory if there is no job) and HVDOCKER_HOOK (the names of the running hooks). HVDOCKER_JOB and
        HVDOCKER_EXIT_CODE are set only if they are known: values that this command got from another hook are removed.
        `code` is the verb's exit code, None if there is none yet."""
        inventory = self.located.inventory
        known = {"HVDOCKER_JOB": self.job, "HVDOCKER_EXIT_CODE": "" if code is None else str(code)}
        around = {each: value for each, value in self.env.environ.items() if each not in known}
        return {
            **around,
            **{each: value for each, value in known.items() if value},
            HOOK_VARIABLE: ",".join((*self.running, name)),
            "HVDOCKER_VERB": self.verb,
            "HVDOCKER_CLUSTER": inventory.cluster,
            "HVDOCKER_INVENTORY": str(self.located.path),
            "HVDOCKER_HOSTS": ",".join(self.hosts or (host.name for host in inventory.hosts)),
        }


class _HookFailed(Exception):
    """The error of a hook that failed or could not be started.

    `how` completes the sentence "the hook NAME ...", as in `failed with exit code 2`. `path` is the file of the hook;
    `lines` are the last lines that the hook printed."""

    def __init__(self, path: Path, how: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(how)
        self.path, self.how, self.lines = path, how, lines

    def as_error(self, what: str) -> HvdockerError:
        fix = "correct it, or leave hooks out: --skip-hooks"
        return HvdockerError(what, command=str(self.path), lines=self.lines, fix=fix)


def exit_code_of(error: BaseException) -> int:
    """Return the exit code with which hvdocker will end because of this error.

    It is never 0: an exception without an exit code counts as a general error."""
    if isinstance(error, KeyboardInterrupt):
        return int(ExitCode.INTERRUPTED)
    code = getattr(error, "exit_code", getattr(error, "code", None))
    return int(code) if isinstance(code, int) and code else int(ExitCode.ERROR)
