"""Show jobs, the queue of commands that wait for slots, and unreachable hosts as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.jobs.jobs import JobsReport, ListedJob, QueueEntry
from hvdocker.units import show_seconds

_STYLES = {"running": "good", "failed": "what"}


def show_jobs(console: Console, report: JobsReport, now: float) -> None:
    if report.jobs:
        clusters = {job.cluster for job in report.jobs} - {report.inventory.cluster}
        console.print(_history(report.jobs, now, has_clusters=bool(clusters)))
    else:
        console.print(Text("no jobs", style="quiet"))
    if report.left_out:
        console.print(Text(f"{report.left_out} older ones are left out: --all shows them", style="quiet"))
    if report.queue:
        console.print()
        table = _table("queue", "owner", "wants", "cluster", "waits for", "last sign of life", "kept on")
        for waiting in report.queue:
            table.add_row(*_queue_row(waiting))
        console.print(table)
    else:
        console.print(Text("nobody waits for slots", style="quiet"))
    _show_unreachable(console, report)


def _show_unreachable(console: Console, report: JobsReport) -> None:
    absent = [host.name for host in report.inventory.hosts if host.name in report.errors]
    if not absent:
        return
    console.print()
    table = _table("host", "state", "")
    for name in absent:
        state, why = Text(report.state(name), style="what"), Text(report.errors[name].what, style="quiet")
        table.add_row(name, state, why)
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in columns:
        table.add_column(column)
    return table


def _history(jobs: Sequence[ListedJob], now: float, has_clusters: bool) -> Table:
    """Return the table of jobs. `has_clusters` adds a column with the cluster of each job."""
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("job", "state", "exit", "ranks", "hosts", "started", "for", "owner", "script"):
        table.add_column(column, justify="right" if column in ("exit", "ranks") else "left")
    for column in (*(("cluster",) if has_clusters else ()), "at"):
        table.add_column(column)
    for job in jobs:
        cluster = (job.cluster,) if has_clusters else ()
        table.add_row(*_job_row(job, now), *cluster, job.host or Text("home", style="quiet"))
    return table


def _job_row(job: ListedJob, now: float) -> tuple[str | Text, ...]:
    return (
        job.job,
        Text(job.state, style=_STYLES.get(job.state, "default")),
        "" if job.exit_code is None else str(job.exit_code),
        _ranks(job),
        ", ".join(f"{share.host}:{share.slots}" for share in job.placement.shares),
        f"{_ago(max(0.0, now - job.created))} ago" if job.created else "",
        show_seconds(job.seconds) if job.seconds is not None else "",
        job.owner,
        job.script,
    )


def _ranks(job: ListedJob) -> str:
    """Return the number of ranks as text. For an elastic job return `min..max`; max is left out if there is no upper
    bound."""
    if job.elastic:
        return f"{job.elastic.min_np}..{job.elastic.max_np or ''}"
    return str(job.placement.np or "")


def _ago(seconds: float) -> str:
    """Return the age as text. An age of two days or more is given in whole days."""
    days = int(seconds // 86400)
    return show_seconds(seconds) if days < 2 else f"{days} days"


def _queue_row(waiting: QueueEntry) -> tuple[str, ...]:
    ticket = waiting.ticket
    return (
        str(waiting.position),
        ticket.who,
        f"{ticket.wish} for `{ticket.verb}`",
        ticket.cluster,
        ticket.since,
        f"{ticket.age_s} s ago",
        waiting.host,
    )
