"""How a job ended, as a verdict: nothing for success, else the error that a person sees first."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.errors import JobFailed, JobStopped
from hvdocker.model.job import RankEnd
from hvdocker.model.placement import Placement
from hvdocker.ops.watch import JobEnd

_KILLED = 9


def verdict(
    job: str, placement: Placement, end: JobEnd, last_lines: Mapping[int, tuple[str, ...]], flag: str = ""
) -> None:
    """`flag` is what commands need to mean the job's cluster."""
    if end.state == "succeeded":
        return
    if end.state == "stopped":
        raise JobStopped(
            f"job {job} was stopped by someone else", fix=f"hvdocker status{flag} shows what runs now"
        )
    first = end.record.first_failure if end.record else None
    if first is None:
        raise JobFailed(
            f"job {job} failed before its ranks could report" + _oom(end.was_oom_killed),
            host=placement.head,
            fix=f"the launcher's own words are above; again with: hvdocker logs {job}{flag}",
        )
    raise JobFailed(
        f"rank {first.rank} {_how(first)}" + _oom(end.was_oom_killed and first.signal == _KILLED),
        host=first.host,
        lines=last_lines.get(first.rank, ()),
        fix=f"the other ranks were ended; all output: hvdocker logs {job}{flag}",
    )


def _how(end: RankEnd) -> str:
    if end.signal:
        return f"was killed by signal {end.signal}"
    return f"failed with exit code {end.code}"


def _oom(was_killed: bool) -> str:
    return " (out of memory: the kernel killed it)" if was_killed else ""
