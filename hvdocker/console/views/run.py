"""Shows the end of `hvdocker run`: how every rank ended, where the outputs are, and whether the cluster still
exists."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hvdocker.cluster.up import UpReport
from hvdocker.console.views.fetched import show_code_files
from hvdocker.console.views.job import show_summary
from hvdocker.training.run import RunReport, can_take_fix
from hvdocker.units import pluralize, show_seconds


def show_planned(console: Console, report: RunReport, planned: UpReport) -> None:
    """Print the end of `hvdocker run --dry-run`: the slots on each host, and what would happen next.

    The caller has already printed the plan of `up`. `planned` is the report of that `up`, which was a dry run."""
    width = max((len(name) for name in planned.host_plans), default=0)
    for name, place in planned.host_plans.items():
        console.print(Text.assemble((f"{'ranks':<10} ", "stage"), (f"{name:<{width}}  ", "bold"),
                                    pluralize(place.slots, "slot")))  # fmt: skip
    cluster = report.located.inventory.cluster
    console.print(f"then the job runs, its outputs come home, and {cluster} is given back")


def show_end(console: Console, report: RunReport, is_quiet: bool) -> None:
    """Print how a `hvdocker run` ended.

    With `is_quiet` print only the files that were not fetched, and a hint how to remove what is left on the hosts."""
    done, fetched = report.train, report.fetched
    for line in fetched.skipped if fetched else ():
        console.print(f"left out: {line}")
    if report.leftover_hint and not can_take_fix(report.error or report.cleanup_error):
        console.print(report.leftover_hint)
    if is_quiet:
        return
    if fetched:
        show_code_files(console, fetched)
    for name in fetched.clashes if fetched else ():
        console.print(f"differs between hosts, kept as {name}.HOST: {name}")
    if done and done.end and done.end.record:
        show_summary(console, done.job, done.placement, done.end.record, done.restarts_before, done.np)
    if report.job and not report.may_be_running:
        console.print(_summary(report), style="quiet")


def _summary(report: RunReport) -> str:
    """Return one line: the job, its ranks, its time, where its outputs are, and whether the cluster still exists."""
    parts = [report.job]
    if report.train:
        parts.append(pluralize(report.train.np or report.train.placement.np, "rank"))
        record = report.train.end.record if report.train.end else None
        if record:
            parts.append(show_seconds(record.seconds))
    if report.fetched:
        parts.append(f"outputs in {report.folder}")
    kept = "is still there" if report.is_kept else "is given back"
    return ", ".join(parts) + f"; {report.located.inventory.cluster} {kept}"
