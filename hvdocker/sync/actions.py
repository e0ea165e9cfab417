"""Carries out the plan step SyncCode: syncs the code to all hosts of a stage (steps of a plan that run at the same
time) together.

`prepare` runs before the steps of the stage. It reads and packs the code folder once and syncs all hosts. Each step
then only reports the outcome of its host. If each step synced its own host, each would read and pack the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hvdocker.plan.apply import Context
from hvdocker.plan.plan import Step
from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.steps import SyncCode
from hvdocker.sync.sync import SyncOptions, SyncReport, sync_all
from hvdocker.sync.tree import Tree
from hvdocker.sync.walk import read_tree
from hvdocker.transport.pool import HostOutcomes
from hvdocker.units import pluralize, show_bytes

_OUTCOMES = ("code", "outcomes")
# Transfers of fewer bytes show no progress bar: they end before it can be read.
_SHOWN_FROM = 16 << 20


@contextmanager
def prepare(some: list[Step], context: Context) -> Iterator[None]:
    _sync_all_hosts([step for step in some if isinstance(step, SyncCode)], context)
    yield


def _sync_all_hosts(steps: Sequence[SyncCode], context: Context) -> None:
    first = steps[0]
    if context.tree is None:
        context.tree = read_tree(Path(first.source), HashCache.of_user(), first.checks_contents)
    for step in steps:
        context.report_progress("code", step.describe(), step.host)
    targets = {step.host: SyncTarget(context.link(step.host), step.folder, step.is_shared) for step in steps}
    grown: set[str] = set()
    how = SyncOptions(first.checks_contents, _ProgressBars(context), context.cancel, grown.add)
    context.results[_OUTCOMES] = sync_all(targets, context.tree, how)
    _note_partial_files(context, grown)


def _note_partial_files(context: Context, grown: set[str]) -> None:
    """Tell the user which files the hosts do not have completely. The files in `grown` became longer after they were
    hashed, so only their first part was sent. Files into which this command writes its own output are not synced at
    all."""
    tree: Tree = context.tree
    for path in sorted(grown):
        size = pluralize(tree.entries[path].size, "byte")
        context.report_progress("note", f"{path} grew while it was read: the first {size} were sent")
    for path in tree.own_output:
        context.report_progress("note", f"{path} is not synced: the output of this command goes there")


def _sync_code(step: SyncCode, context: Context) -> None:
    """Report the outcome of the sync of the step's host, or raise its error. The sync itself was done before, by
    `prepare`.

    If another host failed, this host may have been skipped. It then has no outcome, and nothing is reported."""
    outcomes: HostOutcomes[SyncReport] = context.results[_OUTCOMES]
    if step.host in outcomes.failed:
        raise outcomes.failed[step.host]
    report = outcomes.done.get(step.host)
    if report and (report.sent or report.removed):
        files = f"{pluralize(report.sent, 'file')} sent ({show_bytes(report.sent_bytes)})"
        context.report_progress("code", f"{files}, {report.removed} removed", step.host)
    if report and report.kept:
        changed = f"{pluralize(report.kept, 'file')} that a job had written gave way to the code here"
        context.report_progress("note", f"{changed}: fetch of that job or down brings them home", step.host)


class _ProgressBars:
    """Shows a progress bar for each host. A host causes at most a hundred progress events, and none if its transfer is
    small.

    A sync calls this object with host, bytes done and bytes in total, for every piece that is sent. After Ctrl-C the
    call raises Interrupted, which ends the transfer."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._shown: dict[str, int] = {}

    def __call__(self, host: str, done: int, total: int) -> None:
        if self._context.cancelled.is_set():
            self._context.report_progress("code", "stopping", host)
        percent = 100 * done // total if total >= _SHOWN_FROM else 0
        if self._shown.get(host, 0) < percent:
            self._shown[host] = percent
            self._context.report_progress("code", f"sending {show_bytes(total)}", host, done=done, total=total)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {SyncCode: _sync_code}
