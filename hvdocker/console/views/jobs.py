"""Show jobs, the queue of commands that wait for slots, and unreachable hosts as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.jobs.jobs import JobsReport, ListedJob, QueueEntry
from hvdocker.units import show_seconds

_STYLES = {"running": "good", "failed": "what"}
# Columns that a narrow terminal does not show.
_LEFT_OUT_FIRST = ("launcher", "for", "started", "owner", "ranks", "script", "cluster", "at", "hosts")


def show_jobs(console: Console, report: JobsReport, now: float) -> None:
    if report.jobs:
        clusters = {job.cluster for job in report.jobs} - {report.inventory.cluster}
        console.print(_history(report.jobs, now, bool(clusters), console.width))
    elif report.has_seen_hosts:
        console.print(Text(f"no jobs{report.seen_text}", style="quiet"))
    if report.left_out:
        console.print(Text(f"{report.left_out} older ones are left out: --all shows them", style="quiet"))
    if report.queue:
        console.print()
        table = _table("queue", "owner", "wants", "cluster", "waits for", "last sign of life", "kept on")
        for waiting in report.queue:
            table.add_row(*_queue_row(waiting))
        console.print(table)
    elif report.has_seen_hosts:
        console.print(Text(f"nobody waits for slots{report.seen_text}", style="quiet"))
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


def _history(jobs: Sequence[ListedJob], now: float, has_clusters: bool, width: int) -> Table:
    """Return the table of jobs. `now` is the time from which ages are counted. `has_clusters` adds a column with the
    cluster of each job. If the table is wider than `width`, columns are left out, so that no id, host name or exit
    code is cut."""
    rows = [_job_row(job, now) for job in jobs]
    columns = [name for name in rows[0] if has_clusters or name != "cluster"]
    widths = {name: max(len(name), *(_needed(row[name], name) for row in rows)) + 2 for name in columns}
    for name in _LEFT_OUT_FIRST:
        if name in columns and sum(widths[kept] for kept in columns) > width:
            columns.remove(name)
    needed = sum(widths[name] for name in columns)
    # rich cuts the cells of a table that is wider than the terminal, unless the table has a width of its own.
    table = Table(box=None, pad_edge=False, header_style="quiet", width=needed if needed > width else None)
    for name in columns:
        is_number = name in ("exit", "ranks")
        table.add_column(name, justify="right" if is_number else "left", no_wrap=name != "hosts")
    for row in rows:
        table.add_row(*(row[name] for name in columns))
    return table


def _needed(cell: str | Text, column: str) -> int:
    """Return how many columns of the terminal a cell of the table column `column` needs. A list of hosts may be
    wrapped between hosts, so it needs only the width of its longest host."""
    words = str(cell).split(" ") if column == "hosts" else [str(cell)]
    return max(map(cell_len, words))


def _job_row(job: ListedJob, now: float) -> dict[str, str | Text]:
    return {
        "job": job.job,
        "state": Text(job.state, style=_STYLES.get(job.state, "default")),
        "exit": "" if job.exit_code is None else str(job.exit_code),
        "ranks": _ranks(job),
        "hosts": ", ".join(f"{share.host}:{share.slots}" for share in job.placement.shares),
        "started": f"{_ago(max(0.0, now - job.created))} ago" if job.created else "",
        "for": show_seconds(job.seconds) if job.seconds is not None else "",
        "owner": job.owner,
        "script": job.script,
        "launcher": job.launcher,
        "cluster": job.cluster,
        "at": job.host or Text("home", style="quiet"),
    }


def _ranks(job: ListedJob) -> str:
    """Return the number of ranks as text, empty if it is unknown. For an elastic job return `min..max`; max is left
    out if there is no upper bound."""
    if job.elastic:
        return f"{job.elastic.min_np}..{job.elastic.max_np or ''}"
    return str(job.np or "")


def _ago(seconds: float) -> str:
    """Return an age in seconds as text, such as `5 min 03 s`. An age of two days or more is given in whole days."""
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
