"""Shows the state of a cluster as tables: hosts, then jobs."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hvdocker import names
from hvdocker.cluster.status import HostStatus, JobStatus, StatusReport
from hvdocker.console.narrow_table import narrow_table
from hvdocker.units import pluralize, show_seconds


def show_status(console: Console, report: StatusReport, now: float) -> None:
    console.print(Text.assemble(("cluster ", "quiet"), (report.inventory.cluster, "bold"),
                                ("  image ", "quiet"), report.inventory.image))  # fmt: skip
    if report.hosts:
        rows = [_host_row(host) for host in report.hosts]
        console.print(narrow_table(rows, console.width, ("engine", "address"), wrapped=("",)))
    if not report.jobs:
        seen = [host for host in report.hosts if host.seen]
        # Nothing is known about jobs on hosts that do not answer.
        where = "" if len(seen) == len(report.hosts) else f" on {len(seen)} of {pluralize(len(report.hosts), 'host')}"
        if seen:
            console.print(Text(f"no jobs{where}", style="quiet"))
        return
    rows = [_job_row(job, now) for job in report.jobs]
    console.print(narrow_table(rows, console.width, ("started", "owner", "ranks"), wrapped=("hosts",)))


def _job_row(job: JobStatus, now: float) -> dict[str, str | Text]:
    return {
        "job": job.job,
        "state": job.state,
        "ranks": str(job.ranks or job.placement.np),
        "hosts": ", ".join(f"{share.host}:{share.slots}" for share in job.placement.shares),
        "owner": job.owner,
        "started": f"{show_seconds(max(0.0, now - job.created))} ago",
    }


def _host_row(host: HostStatus) -> dict[str, str | Text]:
    labels = host.worker.labels if host.worker else {}
    style = {"running": "good", "left out": "quiet"}.get(host.state, "what")
    address = (
        f"{labels[names.LABEL_ADDRESS]}:{labels.get(names.LABEL_PORT, '?')}" if names.LABEL_ADDRESS in labels else ""
    )
    engine = host.seen.engine.version if host.seen else ""
    problem = Text(host.error.what, style="quiet") if host.error else ""
    return {
        "host": host.name,
        "worker": Text(host.state, style=style),
        "address": address,
        "slots": labels.get(names.LABEL_SLOTS, ""),
        "engine": engine,
        "": problem,
    }
