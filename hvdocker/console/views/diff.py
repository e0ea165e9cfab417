"""Shows two jobs side by side: where their capsules (the recorded inputs of a job) differ, then how each job ended."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.jobs.capsule.difference import GROUPS, Difference, Outcome, RankOutcome
from hvdocker.units import show_bytes, show_seconds

_NOTHING = "-"


def show_difference(console: Console, found: Difference, with_text: bool = False) -> None:
    """Print what differs between two jobs, and how each of them ended.

    `with_text` also prints the differences in the text of each changed file, as a patch."""
    jobs = (found.first.capsule.job, found.second.capsule.job)
    if found.is_empty:
        console.print(Text(f"{jobs[0]} and {jobs[1]}: no difference but when they ran, and how it went"))
    else:
        _show_changes(console, found, jobs)
        _show_files(console, found)
    _show_outcomes(console, found, jobs)
    if with_text:
        _show_text(console, found)


def _show_changes(console: Console, found: Difference, jobs: tuple[str, str]) -> None:
    table = _table("", "", *jobs)
    for group in GROUPS:
        for number, change in enumerate(found.in_group(group)):
            name = Text("" if number else group, style="stage")
            table.add_row(name, change.what, _shown(change.first), _shown(change.second))
    if table.row_count:
        console.print(table)


def _show_files(console: Console, found: Difference) -> None:
    if not found.files:
        return
    console.print()
    table = _table("changed since its commit", found.first.capsule.job, found.second.capsule.job)
    for change in found.files:
        counts = (one.counts() if one else None for one in (change.first, change.second))
        table.add_row(change.path, *(_shown(words) for words in counts))
    console.print(table)


def _show_outcomes(console: Console, found: Difference, jobs: tuple[str, str]) -> None:
    first, second = found.first.outcome, found.second.outcome
    console.print()
    if first is None and second is None:
        console.print(Text("how they went is not known here: hvdocker fetch brings it", style="quiet"))
        return
    table = _table("outcome", *jobs)
    rows = (_rows(first), _rows(second))
    for name in dict.fromkeys([*rows[0], *rows[1]]):
        one, other = rows[0].get(name), rows[1].get(name)
        style = "default" if one == other else "bold"
        table.add_row(Text(name, style=style), _shown(one), _shown(other))
    console.print(table)


def _rows(outcome: Outcome | None) -> dict[str, str]:
    if outcome is None:
        return {}
    rows = {"state": outcome.state}
    if outcome.code is not None:
        rows["exit code"] = str(outcome.code)
    if outcome.seconds is not None:
        rows["time"] = show_seconds(outcome.seconds)
    rows["restarts"] = str(outcome.restarts)
    return rows | {f"rank {rank.rank}": _rank(rank) for rank in outcome.ranks}


def _rank(rank: RankOutcome) -> str:
    end = f"signal {rank.signal}" if rank.signal else f"exit {'?' if rank.code is None else rank.code}"
    parts = [f"{end} on {rank.host}"]
    if rank.seconds is not None:
        parts.append(show_seconds(rank.seconds))
    if rank.max_rss_kb:
        parts.append(show_bytes(rank.max_rss_kb * 1024))
    return ", ".join(parts)


def _show_text(console: Console, found: Difference) -> None:
    for change in found.files:
        for ran, one in ((found.first, change.first), (found.second, change.second)):
            if one:
                console.print()
                console.print(Text(f"in {ran.capsule.job}:", style="stage"))
                console.print(Text(one.text.decode("utf-8", "replace").rstrip("\n"), style="default"))


def _shown(text: str | None) -> Text:
    return Text(_NOTHING if text is None else text, style="quiet" if text is None else "default")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
