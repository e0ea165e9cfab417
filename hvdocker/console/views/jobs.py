"""Shows jobs, the queue of commands that wait for slots, and unreachable hosts as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.console.narrow_table import Row, narrow_table
from hvdocker.jobs.jobs import JobsReport, ListedJob, QueueEntry
from hvdocker.units import show_seconds

_STYLES = {"running": "good", "failed": "what"}
# Columns that a narrow terminal does not show.
_LEFT_OUT_FIRST = ("launcher", "for", "started", "owner", "ranks", "script", "cluster", "at", "hosts")
_QUEUE_LEFT_OUT_FIRST = ("last sign of life", "kept on", "waits for", "cluster")


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
        console.print(narrow_table([*map(_queue_row, report.queue)], console.width, _QUEUE_LEFT_OUT_FIRST, ("wants",)))
    elif report.has_seen_hosts:
        console.print(Text(f"nobody waits for slots{report.seen_text}", style="quiet"))
    _show_unreachable(console, report)


def _show_unreachable(console: Console, report: JobsReport) -> None:
    absent = [host.name for host in report.inventory.hosts if host.name in report.errors]
    if not absent:
        return
    console.print()
    rows: list[Row] = [
        {
            "host": name,
            "state": Text(report.state(name), style="what"),
            "": Text(report.errors[name].what, style="quiet"),
        }
        for name in absent
    ]
    console.print(narrow_table(rows, console.width, wrapped=("",)))


def _history(jobs: Sequence[ListedJob], now: float, has_clusters: bool, width: int) -> Table:
    """Return the table of jobs. `now` is the time from which ages are counted. `has_clusters` adds a column with the
    cluster of each job. If the table is wider than `width`, columns are left out, so that no id, host name or exit
    code is cut."""
    left_out = [*([] if has_clusters else ["cluster"]), *([] if any(job.launcher for job in jobs) else ["launcher"])]
    rows = [{name: cell for name, cell in _job_row(job, now).items() if name not in left_out} for job in jobs]
    return narrow_table(rows, width, _LEFT_OUT_FIRST, wrapped=("hosts",), right=("exit", "ranks"))


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


def _queue_row(waiting: QueueEntry) -> dict[str, str | Text]:
    ticket = waiting.ticket
    return {
        "queue": str(waiting.position),
        "owner": ticket.who,
        "wants": f"{ticket.wish} for `{ticket.verb}`",
        "cluster": ticket.cluster,
        "waits for": ticket.since,
        "last sign of life": f"{ticket.age_s} s ago",
        "kept on": waiting.host,
    }
