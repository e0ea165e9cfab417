"""The verb `attach`: show the last lines of a running job, follow it to its end, and report the end as
`train` does. For a job that has ended, report how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hvdocker.env import Env
from hvdocker.errors import HeadLost, HostUnreachable, HvdockerError, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs import job_container
from hvdocker.jobs.head_loss import fetching_logs_on_head_loss, head_was_down, reconnect_for
from hvdocker.jobs.log.copies import find_log_copy, last_matching
from hvdocker.jobs.log.reconnect import Reconnect
from hvdocker.jobs.log.save import LOG_FILE, save_log
from hvdocker.jobs.log.stream import read_reopening
from hvdocker.jobs.log.tail import read_tail
from hvdocker.jobs.lookup import FoundJob, find_job, observe_jobs
from hvdocker.jobs.outcome import JobEnd
from hvdocker.jobs.stop import remove_leftover_secrets
from hvdocker.protocol.output import Line, LineFilter
from hvdocker.protocol.placement import Placement
from hvdocker.transport.session import connected

LAST_LINES = 100
# How many last lines of the failed rank the error shows.
FAILED_RANK_LINES = 10


@dataclass(frozen=True)
class AttachReport:
    """How a job ended, as `attach` reports it. `placement` has the hosts and slots of the job. `last_lines` has the
    last lines of output by rank. If a rank failed, it has at least the lines of the rank that failed first, as far as
    they were found."""

    job: str
    placement: Placement
    end: JobEnd
    last_lines: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    # The number of ranks; 0 means as many as there are slots.
    ranks: int = 0


@dataclass
class AttachViewer:
    """Callbacks for a job that still runs. `found` is called first, with the job's id and placement. `line` is called
    for the last lines that the job has already printed, and then for every new line. Neither is called for a job that
    has already ended."""

    found: Callable[[str, Placement], None] = lambda job, placement: None
    line: job_container.OnLine = lambda line: None


def attach(env: Env, located: Located, wanted: str | None, viewer: AttachViewer) -> AttachReport:
    """Follow a job to its end and return how it ended. A job that has already ended is not followed; only how it ended
    is returned.

    `wanted` is a job id or the beginning of one. None means the newest running job, or the newest job if none runs.
    Raises HeadLost if the job ended because its head was lost. Raises another HvdockerError if there is no such job."""
    with connected(env, located, must_all=False) as session:
        found = find_job(env, located, observe_jobs(located, session), wanted, prefers_running=True)
        if found.master is None:
            return _report_from_local_copy(located.flag, found)
        if not found.master.is_living:
            end = _end(found)
            return AttachReport(found.job, found.placement, end, _last_lines_of_failed_rank(found, end), found.ranks)
        return _follow_to_end(env, located, found, viewer, reconnect_for(env, located, session, found))


def _follow_to_end(
    env: Env, located: Located, found: FoundJob, viewer: AttachViewer, reconnect: Reconnect
) -> AttachReport:
    """Show the output of a running job until it ends. Then save its log on the controller, remove its secrets if a
    killed supervisor left them, and return how the job ended. `reconnect` reopens a broken link.

    Raises HeadLost if the head is lost. Then the secrets stay: a `train` on another machine may need them to restart
    the job."""
    assert found.master is not None
    last: dict[int, tuple[str, ...]] = {}
    with fetching_logs_on_head_loss(env, located, found.job):
        try:
            _follow(found, viewer, last, reconnect)
        except HeadLost:
            raise
        except HostUnreachable as error:
            error.fix = f"the job goes on; watch it with: hvdocker attach {found.job}{located.flag}"
            raise
        end = _end(found)
    saved = save_log(located, found.job, found.link, found.master.name)
    if saved.missing:
        env.listener(Event("note", f"{located.jobs / found.job / 'logs' / LOG_FILE}: {saved.missing}"))
    remove_leftover_secrets(env, located, found)
    first = end.record.first_failure if end.record else None
    if first and first.rank not in last:
        # The rank printed nothing while the job was followed, but may have printed lines before.
        last |= _last_lines_of_failed_rank(found, end)
    return AttachReport(found.job, found.placement, end, last, found.ranks)


def _end(found: FoundJob) -> JobEnd:
    assert found.master is not None
    return _raise_if_head_was_down(job_container.read_job_end(found.link, found.master.name), found.head)


def _raise_if_head_was_down(end: JobEnd, head: str) -> JobEnd:
    """Raise HeadLost if the job ended because its head (the host `head`) went down; the job itself did not fail then.
    Otherwise return `end` unchanged."""
    if end.head_went_down:
        raise head_was_down(head)
    return end


def _follow(
    found: FoundJob, viewer: AttachViewer, last: dict[int, tuple[str, ...]], reconnect: Reconnect | None = None
) -> None:
    """Show the last LAST_LINES lines of a running job, then every new line until the job ends. Add the last lines of
    each rank to `last`. If the link breaks, `reconnect` opens a new one; without it a broken link raises
    HostUnreachable."""
    assert found.master is not None
    link, container, placement = found.link, found.master.name, found.placement
    viewer.found(found.job, placement)

    def show(line: Line) -> None:
        if line.rank is not None and line.text.strip() and not line.is_state:
            last[line.rank] = (*last.get(line.rank, ())[1 - FAILED_RANK_LINES :], line.text)
        viewer.line(line)

    link, before = read_reopening(
        link,
        reconnect,
        lambda now: read_tail(
            now, container, placement, LAST_LINES, LineFilter(), is_open=True, launcher=found.launcher
        ),
    )
    for line in before.lines:
        show(line)
    job_container.follow_lines(
        link, container, placement, show, None, before.since, before.skip, reconnect, launcher=found.launcher
    )


def _last_lines_of_failed_rank(found: FoundJob, end: JobEnd) -> dict[int, tuple[str, ...]]:
    """Return the last lines of the rank that failed first, by rank, from the master's log. Empty if `end` names no
    failed rank, or if the master is gone."""
    first = end.record.first_failure if end.record else None
    if first is None or found.master is None:
        return {}
    said = read_tail(
        found.link,
        found.master.name,
        found.placement,
        FAILED_RANK_LINES,
        LineFilter(frozenset({first.rank})),
        launcher=found.launcher,
    )
    return {first.rank: tuple(line.text for line in said.lines if line.text.strip())}


def _report_from_local_copy(flag: str, found: FoundJob) -> AttachReport:
    """Report how a job ended from its files on the controller, because no reachable host has its master.
    `flag` is the flag that names the inventory, for commands in messages.

    Raises HvdockerError if a host is unreachable, because the job may still run there, or if the files do not say how
    the job ended."""
    raise_all("some hosts cannot be reached", list(found.observed.unreachable.values()))
    past = found.local.past if found.local else None
    if past is None or past.exit_code is None:
        raise HvdockerError(
            f"how {found.job} ended is not known: its container is gone",
            fix=f"what is left of its output: hvdocker logs {found.job}{flag}",
        )
    end = _raise_if_head_was_down(JobEnd(past.record, past.exit_code), next(iter(found.placement.hosts), "of the job"))
    first = past.record.first_failure if past.record else None
    words: dict[int, tuple[str, ...]] = {}
    if first and found.local and found.local.output:
        said = last_matching(find_log_copy(found).lines, LineFilter(frozenset({first.rank})), FAILED_RANK_LINES)
        words[first.rank] = tuple(line.text for line in said if line.text.strip())
    return AttachReport(found.job, found.placement, end, words, found.ranks)
