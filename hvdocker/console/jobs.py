"""Jobs and the queue as tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.model.units import show_seconds
from hvdocker.ops.jobs import JobSeen, JobsReport, Waiting

_STYLES = {"running": "good", "failed": "what"}


def show_jobs(console: Console, report: JobsReport, now: float) -> None:
    if report.jobs:
        table = _table("job", "cluster", "owner", "state", "ranks", "hosts", "started", "for")
        for job in report.jobs:
            table.add_row(*_job_row(job, now))
        console.print(table)
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
    _show_absent(console, report)


def _show_absent(console: Console, report: JobsReport) -> None:
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


def _job_row(job: JobSeen, now: float) -> tuple[str | Text, ...]:
    shares = ", ".join(f"{share.host}:{share.slots}" for share in job.placement.shares)
    return (
        job.job,
        job.cluster,
        job.owner,
        Text(job.state, style=_STYLES.get(job.state, "default")),
        str(job.placement.np),
        shares,
        f"{show_seconds(max(0.0, now - job.created))} ago",
        show_seconds(job.seconds) if job.seconds is not None else "",
    )


def _queue_row(waiting: Waiting) -> tuple[str, ...]:
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
