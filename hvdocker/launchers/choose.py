"""Decides which launcher a job gets: `--launcher`, else `launcher:` in the inventory, else the image's label. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from hvdocker.errors import UsageProblem
from hvdocker.launchers import DEFAULT, LAUNCHERS, NAMES, named
from hvdocker.launchers.launcher import Launcher

BY_FLAG = "--launcher"
BY_INVENTORY = "launcher: in the inventory"
BY_IMAGE = "the image's label"
BY_DEFAULT = "default"


@dataclass(frozen=True)
class LauncherChoice:
    """The launcher of a job and what decided it, for the plan and the capsule. `reason` is one of the BY_… constants,
    such as `--launcher`. In a replay `reason` is `as JOB`, with the id of the original job."""

    launcher: Launcher
    reason: str = BY_DEFAULT

    @property
    def text(self) -> str:
        return f"{self.launcher.name} ({self.reason})"


def choose_launcher(flag: str | None, inventory: str | None, label: str) -> LauncherChoice:
    """Return the launcher that `--launcher` (`flag`) names, or else the inventory, or else the `label` of the image.
    Return the default launcher if none of them names one. Raise UsageProblem if the name is unknown."""
    if found := known_launcher(flag, inventory):
        return found
    if not label:
        return LauncherChoice(named(DEFAULT))
    if label not in NAMES:
        raise UsageProblem(
            f"the launcher of the image is {label}, which this version of hvdocker does not know",
            fix=f"update hvdocker, or choose one: --launcher {'|'.join(NAMES)}",
        )
    return LauncherChoice(named(label), BY_IMAGE)


def known_launcher(flag: str | None, inventory: str | None) -> LauncherChoice | None:
    """Return the launcher that `--launcher` (`flag`) or the inventory names. Return None if neither names one, so that
    the image decides. Raise UsageProblem if the name in `flag` is unknown. The name in `inventory` was checked when the
    inventory was read."""
    if flag:
        if flag not in NAMES:
            close = difflib.get_close_matches(flag, NAMES, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise UsageProblem(f"there is no launcher {flag!r}", fix=f"{hint}launchers are {', '.join(NAMES)}")
        return LauncherChoice(named(flag), BY_FLAG)
    return LauncherChoice(named(inventory), BY_INVENTORY) if inventory else None


def check_launcher_flags(
    launcher: Launcher, passed: tuple[str, ...], is_elastic: bool, fails_fast: bool, has_start_timeout: bool
) -> None:
    """Raise UsageProblem if the launcher does not support a flag of the job. `passed` are the flags for the launcher
    with their values. `is_elastic` says that `--min-np` is given, `fails_fast` that `--fail-fast` is given, and
    `has_start_timeout` that `--start-timeout` is given."""
    if is_elastic and not launcher.is_elastic:
        able = " or ".join(f"--launcher {one.name}" for one in LAUNCHERS if one.is_elastic)
        raise UsageProblem(f"--min-np needs an elastic launcher, and this job's is {launcher.name}", fix=f"take {able}")
    if fails_fast and not launcher.is_pool:
        able = " or ".join(f"--launcher {one.name}" for one in LAUNCHERS if one.is_pool)
        raise UsageProblem(
            f"--fail-fast goes with {able}: with {launcher.name}, a failing rank ends the job anyway",
            fix="leave it out",
        )
    if has_start_timeout and not launcher.limits_start:
        able = " or ".join(f"--launcher {one.name}" for one in LAUNCHERS if one.limits_start)
        raise UsageProblem(f"--start-timeout goes with {able}, and this job's is {launcher.name}", fix="leave it out")
    launcher.check_flags(passed, is_elastic)
