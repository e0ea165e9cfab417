"""Shows who holds the lock of each host."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hvdocker.console.narrow_table import narrow_table
from hvdocker.locks.lock import LockReport
from hvdocker.units import show_seconds


def show_locks(console: Console, report: LockReport) -> None:
    rows = [_row(report, host.name) for host in report.inventory.hosts]
    if rows:
        console.print(narrow_table(rows, console.width, ("last beat", "since"), wrapped=("doing", "")))


def _row(report: LockReport, name: str) -> dict[str, str | Text]:
    state = report.state(name)
    holder, error = report.holders.get(name), report.errors.get(name)
    return {
        "host": name,
        "lock": Text(state, style="good" if state == "free" else "what"),
        "held by": holder.who if holder else "",
        "doing": holder.doing if holder else "",
        "since": f"{holder.since} ago" if holder else "",
        "last beat": f"{show_seconds(holder.age_s)} ago" if holder else "",
        "": Text(error.what, style="quiet") if error else "",
    }
