"""Turn the end of a job into the error that the user sees; a job that succeeded has none. Pure: opens nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hvdocker.errors import JobFailed, JobStopped
from hvdocker.launchers import named
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import DroppedHost, Hang, JobRecord
from hvdocker.units import pluralize, show_seconds

# The exit code that an engine gives to a container which it finds dead when the engine starts.
HOST_LOST_EXIT_CODE = 255

_SIGKILL = 9
# Exit codes of docker and ssh: `--propagate-exit` never returns these, whatever a rank ended with.
_RESERVED_EXIT_CODES = (125, 126, 127, 255)
_OOM_TEXT = " (out of memory: the kernel killed it)"


@dataclass(frozen=True)
class EndedJob:
    """A job that has ended. `last_lines` has the last lines of output by rank.

    `flag` is what suggested commands need to select the job's cluster, such as ` --cluster NAME`, or empty.
    `restarts_before` counts the restarts before the last master was started. A job gets another master after the loss
    of its head, and the record of the last master does not include earlier restarts."""

    job: str
    placement: Placement
    end: JobEnd
    last_lines: Mapping[int, tuple[str, ...]]
    flag: str = ""
    restarts_before: int = 0

    @property
    def head(self) -> str | None:
        """The head of the job. None if the placement is unknown: the files that name it may be missing for a job whose
        containers were removed."""
        return next(iter(self.placement.hosts), None)

    @property
    def logs(self) -> str:
        """The command that shows the job's output, for hints to the user, as in `hvdocker logs train-ab12`."""
        return f"hvdocker logs {self.job}{self.flag}"


def raise_unless_succeeded(ended: EndedJob, propagates_exit: bool = False) -> None:
    """Return if the job succeeded. Otherwise raise JobStopped if it was stopped, else JobFailed.

    With `propagates_exit` the JobFailed gets the exit code of the rank that failed first. The usual exit code of
    JobFailed stays if no rank caused the failure, or if docker or ssh use the rank's code for errors of their own."""
    if ended.end.state == "succeeded":
        return
    if ended.end.state == "stopped":
        raise JobStopped(
            f"job {ended.job} was stopped by someone else",
            host=ended.head,
            fix=f"hvdocker status{ended.flag} shows what runs now",
        )
    raise _failure(ended, propagates_exit)


def _failure(ended: EndedJob, propagates_exit: bool) -> JobFailed:
    record = ended.end.record
    if record is None:
        return _unreported(ended)
    if record.hang and record.hang.then == "kill":
        error = _hung(ended, record.hang)
    elif record.lost_hosts:
        error = _host_lost(ended, record, record.lost_hosts)
    elif record.first_failure:
        error = _rank_failed(ended, record.first_failure, record)
        code = record.first_failure.code
        if propagates_exit and code and 0 < code < 256 and code not in _RESERVED_EXIT_CODES:
            error.exit_code = code
    else:
        error = _unreported(ended)
    restarts = record.restarts + ended.restarts_before
    error.what += f", after {pluralize(restarts, 'restart')}" if restarts else ""
    error.lines = (*error.lines, *remarks(record))
    return error


def _unreported(ended: EndedJob) -> JobFailed:
    memory = _OOM_TEXT if ended.end.was_oom_killed else ""
    if ended.end.record and not ended.end.has_final_record:
        what = f"the master of job {ended.job} was killed (exit code {ended.end.exit_code}){memory}"
        return JobFailed(what, host=ended.head, fix=f"all output: {ended.logs}")
    return JobFailed(
        f"job {ended.job} failed before its ranks could report{memory}",
        host=ended.head,
        fix=f"the launcher's own words are above; again with: {ended.logs}",
    )


def _rank_failed(ended: EndedJob, first: RankEnd, record: JobRecord) -> JobFailed:
    is_masters = first.host == ended.head and ended.end.was_oom_killed
    is_memory = first.was_oom_killed or (is_masters and first.signal == _SIGKILL)
    others = "the other ranks were ended; " if _others_were_ended(first, record) else ""
    fix = f"{others}all output: {ended.logs}"
    if is_memory:
        fix = f"let a rank need less, or give it more: `memory:` in the inventory; {fix}"
    return JobFailed(
        f"rank {first.rank} {_how_it_ended(first)}" + (_OOM_TEXT if is_memory else ""),
        host=first.host,
        lines=ended.last_lines.get(first.rank, ()),
        fix=fix,
    )


def _others_were_ended(first: RankEnd, record: JobRecord) -> bool:
    """Return whether the job ended its other ranks after `first` had failed. This is always so, unless the launcher
    is a pool, whose ranks are independent. In a pool it is so if the record has another rank that did not exit by
    itself."""
    if not named(record.launcher).is_pool:
        return True
    return any(end.signal or end.code is None for end in record.ranks if end.rank != first.rank)


def _how_it_ended(end: RankEnd) -> str:
    return f"was killed by {end.signal_name}" if end.signal else f"failed with exit code {end.code}"


def _host_lost(ended: EndedJob, record: JobRecord, hosts: Sequence[str]) -> JobFailed:
    ranks = [end.rank for end in record.ranks if end.host in hosts]
    if not record.ranks:
        ranks = [rank for rank, host in enumerate(ended.placement.host_of_rank()) if host in hosts]
    which = f"host {hosts[0]}" if len(hosts) == 1 else f"hosts {', '.join(hosts)}"
    verb = "was" if len(ranks) == 1 else "were"
    there = f"; {_ranks(ranks)} {verb} there" if ranks else ""
    lines = [
        f"rank {rank}: {line}" for rank in ranks for line in ended.last_lines.get(rank, ())[-max(1, 10 // len(ranks)) :]
    ]
    return JobFailed(
        f"{which} stopped answering{there}",
        lines=lines,
        fix=f"is the machine up? then hvdocker up{ended.flag}, and train again; with --restarts N a job is "
        "restarted on the hosts that still respond",
    )


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _hung(ended: EndedJob, hang: Hang) -> JobFailed:
    told = f"no rank did anything for {show_seconds(hang.after_s)}, so the job was ended"
    odd = f"; rank {hang.odd_rank} is the odd one" if hang.odd_rank is not None else ""
    why = f" ({hang.why})" if odd and hang.why else ""
    bundle = f"stacks of all ranks: hvdocker fetch {ended.job}{ended.flag}, then logs/{hang.bundle}/summary.txt"
    return JobFailed(
        f"{told}{odd}{why}",
        host=hang.odd_host or None,
        lines=ended.last_lines.get(-1 if hang.odd_rank is None else hang.odd_rank, ()),
        fix=bundle if hang.bundle else f"all output: {ended.logs}",
    )


def remarks(record: JobRecord) -> list[str]:
    """Return notes for the user on events during a job, whether it succeeded or failed: hosts that were dropped, rules
    of the inventory that matched a line of output, and hangs that did not end the job. Empty if there were none."""
    told = [
        f"{match.host} was left out by the rule {match.pattern!r}: rank {match.rank} said: {match.line}"
        for match in record.dropped_by_rule
    ]
    told += [_dropped_host_text(one) for one in record.dropped_hosts]
    if stopped := record.stopped_by_rule:
        said = f"rank {stopped.rank} on {stopped.host} said: {stopped.line}"
        told.append(f"not run again because of the rule {stopped.pattern!r}: {said}")
    if record.hang and record.hang.then != "kill":
        hang = record.hang
        odd = f"; rank {hang.odd_rank} on {hang.odd_host} was the odd one" if hang.odd_rank is not None else ""
        told.append(f"no rank did anything for {show_seconds(hang.after_s)}{odd}: see logs/{hang.bundle}")
    return told


def _dropped_host_text(one: DroppedHost) -> str:
    again = f"a rank failed there {one.times} times in a row within a minute of its start (last: {one.how})"
    return f"{one.host} {'was left out' if one.then == 'drop' else 'is the head'}: {again}"


@dataclass(frozen=True)
class JobEnd:
    """How the master of a job ended. `record` is the parsed record.json, None if it was not found. `exit_code` is the
    exit code of the master container. `was_oom_killed` says whether the kernel killed a process in that container for
    lack of memory.

    The supervisor writes the record at the start and at every change. So a supervisor that was killed leaves a record
    with the state `running`. In that case `exit_code` says how the job ended."""

    record: JobRecord | None
    exit_code: int
    was_oom_killed: bool = False

    @property
    def state(self) -> str:
        """The final state, such as `succeeded` or `failed`. It comes from the record, or from the exit code if a
        killed supervisor left no final record."""
        if self.has_final_record:
            return self.record.state if self.record else ""
        return "succeeded" if self.exit_code == 0 else "failed"

    @property
    def has_final_record(self) -> bool:
        """Whether the supervisor itself recorded how the job ended. False if it was killed before, or if there is no
        record."""
        return self.record is not None and self.record.state != "running"

    @property
    def head_went_down(self) -> bool:
        """Whether the head went down during the job. When its engine started again, it found the master dead and gave
        it the exit code HOST_LOST_EXIT_CODE."""
        return not self.has_final_record and self.exit_code == HOST_LOST_EXIT_CODE
