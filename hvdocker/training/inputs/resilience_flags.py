"""Check the flags that say what a job does on failure, and turn them into a Resilience. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hvdocker.errors import UsageProblem
from hvdocker.protocol.resilience import ON_HANG, Elastic, Resilience, Rule
from hvdocker.units import parse_seconds

HANG_AFTER = "10m"


@dataclass(frozen=True)
class ResilienceFlags:
    """The values of `--min-np`, `--max-np`, `--restarts`, `--hang-after` (such as `10m`) and `--on-hang` (`wait`,
    `kill` or `restart`), not checked yet. None means that the flag is not given."""

    min_np: int | None = None
    max_np: int | None = None
    restarts: int | None = None
    hang_after: str = HANG_AFTER
    on_hang: str = "wait"


def resilience_of(
    flags: ResilienceFlags, np: int | None, hosts: str | None = None, rules: Sequence[Rule] = ()
) -> Resilience:
    """Check the flags and return them as a Resilience, which says what a job does on failure. Raises UsageProblem if
    the flags are invalid or contradict each other.

    `np` and `hosts` are the values of `-np` and `-H`, None if not given. `rules` are the inventory's rules on log
    lines."""
    hang_after_s = _hang_after_s(flags)
    return Resilience(
        restarts=_restarts(flags),
        elastic=_elastic(flags, np, hosts),
        hang_after_s=hang_after_s,
        on_hang=flags.on_hang,
        rules=tuple(rules),
    )


def _elastic(flags: ResilienceFlags, np: int | None, hosts: str | None) -> Elastic | None:
    least, most = flags.min_np, flags.max_np
    if least is None:
        if most is not None:
            raise UsageProblem("--max-np goes with --min-np", fix="--min-np N says with how few ranks the job goes on")
        return None
    if hosts:
        raise UsageProblem(
            "-H and --min-np exclude each other: -H says where every rank goes, and an elastic job moves",
            fix="name the hosts that may be used: --include a,b",
        )
    if least < 1:
        raise UsageProblem(f"--min-np should be at least 1, got {least}")
    if most is not None and most < least:
        raise UsageProblem(f"--max-np {most} is less than --min-np {least}")
    if np is not None and np < least:
        raise UsageProblem(f"-np {np} is less than --min-np {least}")
    if np is not None and most is not None and np > most:
        raise UsageProblem(f"-np {np} is more than --max-np {most}")
    return Elastic(least, most)


def _restarts(flags: ResilienceFlags) -> int:
    if flags.restarts is not None and flags.restarts < 0:
        raise UsageProblem(f"--restarts should be 0 or more, got {flags.restarts}")
    if flags.on_hang == "restart":
        if flags.restarts == 0:
            raise UsageProblem("--on-hang restart and --restarts 0 exclude each other")
        return flags.restarts or 1
    return flags.restarts or 0


def _hang_after_s(flags: ResilienceFlags) -> float:
    if flags.on_hang not in ON_HANG:
        raise UsageProblem(f"--on-hang should be {', '.join(ON_HANG)}, got {flags.on_hang!r}")
    seconds = parse_seconds(flags.hang_after)
    if seconds is None:
        raise UsageProblem(
            f"--hang-after should be a time such as 90s, 10m or 2h, got {flags.hang_after!r}",
            fix="0 never takes silence for a hang",
        )
    if not seconds and flags.on_hang != "wait":
        raise UsageProblem(f"--on-hang {flags.on_hang} needs a --hang-after: 0 never takes silence for a hang")
    return seconds
