"""Show who holds the lock of each host."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.locks.lock import LockReport
from hvdocker.units import show_seconds


def show_locks(console: Console, report: LockReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("host", "lock", "held by", "doing", "since", "last beat", ""):
        table.add_column(column)
    for host in report.inventory.hosts:
        table.add_row(*_row(report, host.name))
    console.print(table)


def _row(report: LockReport, name: str) -> tuple[str | Text, ...]:
    state = report.state(name)
    shown = Text(state, style="good" if state == "free" else "what")
    holder, error = report.holders.get(name), report.errors.get(name)
    problem = Text(error.what, style="quiet") if error else ""
    if holder is None:
        return name, shown, "", "", "", "", problem
    beat = f"{show_seconds(holder.age_s)} ago"
    return name, shown, holder.who, holder.doing, f"{holder.since} ago", beat, problem
