"""The verb `logs`: show a job's output, from any controller. Reads the log of the master container, or a copy of
it if the container is gone or unreachable."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hvdocker.env import Env
from hvdocker.errors import UsageProblem, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.inventory.select_hosts import select_named_hosts
from hvdocker.jobs import job_container
from hvdocker.jobs.head_loss import fetching_logs_on_head_loss, reconnect_for
from hvdocker.jobs.log.copies import find_log_copy, last_matching
from hvdocker.jobs.log.reconnect import Reconnect
from hvdocker.jobs.log.save import missing_beginning
from hvdocker.jobs.log.since import Since
from hvdocker.jobs.log.stream import read_reopening
from hvdocker.jobs.log.tail import read_tail
from hvdocker.jobs.lookup import FoundJob, find_job, observe_jobs
from hvdocker.protocol.output import Line, LineFilter
from hvdocker.transport.session import connected


@dataclass(frozen=True)
class LogsRequest:
    """The flags of the verb `logs`. With `follows` new lines are shown until the job ends. `lines` is the filter by
    rank, host and pattern. `tail` limits the output to that many last lines that pass the filter; None means all.
    `since` leaves out older lines; None means no limit."""

    follows: bool = False
    tail: int | None = None
    since: Since | None = None
    lines: LineFilter = field(default_factory=LineFilter)


def line_filter(ranks: Iterable[int], hosts: Iterable[str], regex: str | None) -> LineFilter:
    """Return the filter that the flags of `logs` describe. Empty `ranks` or `hosts`, and None as `regex`, let every
    line pass. Raises UsageProblem for an invalid regular expression."""
    try:
        pattern = re.compile(regex) if regex is not None else None
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageProblem(
            f"--regex is no regular expression: {error}", lines=[f"got {regex}"], fix="as in 'loss|error'"
        ) from error
    return LineFilter(frozenset(ranks), frozenset(hosts), pattern)


def logs(env: Env, located: Located, wanted: str | None, request: LogsRequest, on_line: job_container.OnLine) -> str:
    """Pass every requested line of the job `wanted` to `on_line`; return the job's id.

    `wanted` is a job id or its beginning; None means the newest job. If the master container cannot be read, the lines
    come from a copy of the output, and a note says so. Raises HvdockerError if there is no such job or no copy."""
    if located.inventory.hosts:
        select_named_hosts(located.inventory, request.lines.hosts)
    with connected(env, located, must_all=False) as session:
        found = find_job(env, located, observe_jobs(located, session), wanted)
        if found.master:
            with fetching_logs_on_head_loss(env, located, found.job):
                gone = _from_container(found, request, on_line, reconnect_for(env, located, session, found))
            if gone:
                env.listener(Event("note", gone))
        else:
            _from_copies(env, found, request, on_line)
        return found.job


def _from_container(found: FoundJob, request: LogsRequest, on_line: job_container.OnLine, reconnect: Reconnect) -> str:
    """Pass the requested lines of the master container to `on_line`. Return a text that says which lines are missing
    because the engine dropped the beginning of the log. The text is empty if no line is known to be missing, or if the
    user asked only for a part of the log (`tail` or `since`)."""
    assert found.master is not None
    link, container, placement = found.link, found.master.name, found.placement
    launcher = found.launcher
    since = request.since.on(link) if request.since else None

    def take(line: Line) -> None:
        if request.lines.matches(line):
            on_line(line)

    if (tail := request.tail) is not None:
        is_open = request.follows and job_container.is_running(link, container)
        link, last = read_reopening(
            link,
            reconnect if is_open else None,
            lambda now: read_tail(now, container, placement, tail, request.lines, since, is_open, launcher),
        )
        for line in last.lines:
            on_line(line)
        if is_open:
            job_container.follow_lines(
                link, container, placement, take, None, last.since, last.skip, reconnect, launcher=launcher
            )
        return ""
    count = job_container.LineCount()
    if request.follows:
        link = job_container.follow_lines(
            link, container, placement, take, since=since, again=reconnect, count=count, launcher=launcher
        )
    else:
        for line in job_container.read_lines(
            link, container, placement, follow=False, since=since, count=count, launcher=launcher
        ):
            take(line)
        # The SDK ends a stream silently when the link breaks: this call raises if the link is dead.
        job_container.is_running(link, container)
    return missing_beginning(link, container, count.lines) if since is None else ""


def _from_copies(env: Env, found: FoundJob, request: LogsRequest, on_line: job_container.OnLine) -> None:
    copy = find_log_copy(found)
    env.listener(Event("note", f"{why_no_container(found)}; these lines are {copy.where}"))
    if request.since:
        env.listener(Event("note", "it tells no times: --since is left out"))
    for line in last_matching(copy.lines, request.lines, request.tail):
        on_line(line)
    if request.follows:
        raise_all("some hosts cannot be reached", list(found.observed.unreachable.values()))


def why_no_container(found: FoundJob) -> str:
    """Return, for a note to the user, why the job's container cannot be read: its host is unreachable, or the
    container is gone."""
    away = found.observed.unreachable
    head = found.placement.hosts[:1]
    if head and head[0] in away:
        return f"{head[0]}, which has the job's container, is away ({away[head[0]].what})"
    if away:
        return f"the job's container is on none of the hosts that answer ({', '.join(away)} away)"
    return "the job's container is gone"
