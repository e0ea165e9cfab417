"""Shows why slots were placed as they were: the chosen placement, and why each other placement was not chosen."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.placement.strategies import Explanation
from hvdocker.protocol.placement import Placement

# A placement on more hosts than this is cut off, and ends with their number.
MOST_HOSTS = 8


def show_explanation(console: Console, explanation: Explanation) -> None:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("", "placement", "why"):
        table.add_column(column)
    merits = ", ".join(f"{name}: {value}" for name, value in explanation.merits.items())
    chosen = Text(explanation.strategy, style="good")
    table.add_row(chosen, _shown(explanation.winner), merits or "as -H says")
    for runner in explanation.runners_up:
        table.add_row(Text(runner.how, style="quiet"), _shown(runner.placement), f"lost: {runner.lost_by}")
    for how in explanation.impossible:
        table.add_row(Text(how, style="quiet"), "", "not enough slots")
    console.print(table)


def _shown(placement: Placement) -> str:
    """Return the placement as text in the format of the flag `-H` (`a:2,b:1`). The first host is the job's head (the
    master's host).

    If there are more than MOST_HOSTS hosts, the others are only counted."""
    shares = [f"{share.host}:{share.slots}" for share in placement.shares]
    if len(shares) <= MOST_HOSTS:
        return ",".join(shares)
    return f"{','.join(shares[:MOST_HOSTS])},… on {len(shares)} hosts"
