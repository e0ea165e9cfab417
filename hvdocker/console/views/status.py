"""Show the state of a cluster as tables: hosts, then jobs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker import names
from hvdocker.cluster.status import HostStatus, StatusReport
from hvdocker.units import pluralize, show_seconds


def show_status(console: Console, report: StatusReport, now: float) -> None:
    console.print(Text.assemble(("cluster ", "quiet"), (report.inventory.cluster, "bold"),
                                ("  image ", "quiet"), report.inventory.image))  # fmt: skip
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("host", "worker", "address", "slots", "engine", ""):
        table.add_column(column)
    for host in report.hosts:
        table.add_row(*_host_row(host))
    console.print(table)
    if not report.jobs:
        seen = [host for host in report.hosts if host.seen]
        # Of a host that does not answer nothing is known.
        where = "" if len(seen) == len(report.hosts) else f" on {len(seen)} of {pluralize(len(report.hosts), 'host')}"
        if seen:
            console.print(Text(f"no jobs{where}", style="quiet"))
        return
    jobs = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("job", "state", "ranks", "hosts", "owner", "started"):
        jobs.add_column(column)
    for job in report.jobs:
        shares = ", ".join(f"{share.host}:{share.slots}" for share in job.placement.shares)
        ago = f"{show_seconds(max(0.0, now - job.created))} ago"
        jobs.add_row(job.job, job.state, str(job.ranks or job.placement.np), shares, job.owner, ago)
    console.print(jobs)


def _host_row(host: HostStatus) -> tuple[str | Text, ...]:
    labels = host.worker.labels if host.worker else {}
    style = {"running": "good", "left out": "quiet"}.get(host.state, "what")
    address = (
        f"{labels[names.LABEL_ADDRESS]}:{labels.get(names.LABEL_PORT, '?')}" if names.LABEL_ADDRESS in labels else ""
    )
    engine = host.seen.engine.version if host.seen else ""
    problem = Text(host.error.what, style="quiet") if host.error else ""
    return (host.name, Text(host.state, style=style), address, labels.get(names.LABEL_SLOTS, ""), engine, problem)
