"""Hooks: programs in .hvdocker/hooks/ that run here before and after verbs, outside of all locks. One that
runs before a verb and fails stops it; one that runs after it and fails is a note."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hvdocker.env import Env
from hvdocker.errors import (
    ExitCode,
    HvdockerError,
    UsageProblem,
)
from hvdocker.events import Event
from hvdocker.inventory.locate import Located

NAMES = ("pre-up", "post-up", "pre-train", "post-train", "on-failure", "pre-down")
# In a hook: the hooks that are running, outermost first. A verb in a hook does not run these again.
VARIABLE = "HVDOCKER_HOOK"

Say = Callable[[bytes], None]


def silent(line: bytes) -> None:
    """Nobody listens to what hooks print."""


@dataclass
class VerbEnd:
    """What a verb that did its work is going to exit with all the same."""

    code: int = 0


@dataclass(frozen=True)
class Hooks:
    """Those of one command. `say` is given what they print; a `job` is known once it has started."""

    env: Env
    located: Located
    verb: str
    is_skipped: bool = False
    say: Say = silent
    job: str = ""
    hosts: tuple[str, ...] = ()

    def of(self, located: Located) -> Hooks:
        """The same for another cluster: a `run` has its own."""
        return replace(self, located=located)

    def with_job(self, job: str, hosts: tuple[str, ...]) -> Hooks:
        return replace(self, job=job, hosts=hosts)

    def before(self, what: str) -> None:
        """Raises where the hook fails, or is not to be trusted."""
        name = f"pre-{what}"
        try:
            self._run(name, None)
        except _Failed as error:
            raise error.told(f"the hook {name} {error.how}, so nothing was done") from None

    def after(self, what: str, code: int) -> None:
        self._gently(f"post-{what}", code)

    def failed(self, error: BaseException) -> None:
        """Not for what is wrong with the command itself: nothing was tried."""
        if not isinstance(error, UsageProblem):
            self._gently("on-failure", code_of(error))

    @contextmanager
    def around(self, what: str) -> Iterator[VerbEnd]:
        """Of a verb that is done when it returns."""
        end = VerbEnd()
        with self.on_failure():
            self.before(what)
            yield end
            self.after(what, end.code)

    @contextmanager
    def on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.failed(error)
            raise

    def _gently(self, name: str, code: int) -> None:
        try:
            self._run(name, code)
        except _Failed as error:
            last = f": {error.lines[-1]}" if error.lines else ""
            self.env.listener(Event("note", f"the hook {name} {error.how}{last}"))
        except HvdockerError as error:
            self.env.listener(Event("note", error.what))

    def _run(self, name: str, code: int | None) -> None:
        path = self._found(name)
        if path is None:
            return
        from hvdocker.hooks.run_hook import run_hook

        self.env.listener(Event("hook", name))
        try:
            end = run_hook(path, self.located.folder, self._variables(name, code), self.say)
        except OSError as error:
            raise _Failed(path, f"cannot be run: {error.strerror}") from error
        self.env.listener(Event("hook", name, is_end=True))
        if end.code:
            how = f"was killed by signal {-end.code}" if end.code < 0 else f"failed with exit code {end.code}"
            raise _Failed(path, how, end.last_lines)

    def _found(self, name: str) -> Path | None:
        path = self.located.state / "hooks" / name
        if self.is_skipped or name in self.running or not path.exists():
            return None
        from os import X_OK, access

        from hvdocker.hooks.run_hook import trouble_with

        for part in (path.parent, path):
            if trouble := trouble_with(part):
                raise HvdockerError(
                    f"{part} is not run: {trouble.what}",
                    fix=f"{trouble.mend}; or leave hooks out: --skip-hooks",
                )
        if path.is_dir() or not access(path, X_OK):
            make = shlex.join(("chmod", "+x", str(path)))
            self.env.listener(Event("note", f"the hook {name} is not executable, and left out: {make}"))
            return None
        return path

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(filter(None, self.env.environ.get(VARIABLE, "").split(",")))

    def _variables(self, name: str, code: int | None) -> dict[str, str]:
        """Of an outer hook nothing may stay that is not known here."""
        inventory = self.located.inventory
        known = {"HVDOCKER_JOB": self.job, "HVDOCKER_EXIT_CODE": "" if code is None else str(code)}
        around = {each: value for each, value in self.env.environ.items() if each not in known}
        return {
            **around,
            **{each: value for each, value in known.items() if value},
            VARIABLE: ",".join((*self.running, name)),
            "HVDOCKER_VERB": self.verb,
            "HVDOCKER_CLUSTER": inventory.cluster,
            "HVDOCKER_INVENTORY": str(self.located.path),
            "HVDOCKER_HOSTS": ",".join(self.hosts or (host.name for host in inventory.hosts)),
        }


class _Failed(Exception):
    def __init__(self, path: Path, how: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(how)
        self.path, self.how, self.lines = path, how, lines

    def told(self, what: str) -> HvdockerError:
        fix = "correct it, or leave hooks out: --skip-hooks"
        return HvdockerError(what, command=str(self.path), lines=self.lines, fix=fix)


def code_of(error: BaseException) -> int:
    """What the program is going to exit with."""
    if isinstance(error, KeyboardInterrupt):
        return int(ExitCode.INTERRUPTED)
    code = getattr(error, "exit_code", getattr(error, "code", None))
    return int(code) if isinstance(code, int) and code else int(ExitCode.ERROR)
