"""The code stage of a plan: all hosts are synced together, so that files are read and packed once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hvdocker.plan.apply import Context
from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.host_index import Target
from hvdocker.sync.steps import SyncCode
from hvdocker.sync.sync import How, SyncReport, sync_all
from hvdocker.sync.walk import read_tree
from hvdocker.transport.pool import Outcomes
from hvdocker.units import count, show_bytes

_OUTCOMES = ("code", "outcomes")
# Smaller ones are over before anybody reads about them.
_SHOWN_FROM = 16 << 20


def bring(steps: Sequence[SyncCode], context: Context) -> None:
    first = steps[0]
    if context.tree is None:
        context.tree = read_tree(Path(first.source), HashCache.of_user(), first.checks_contents)
    for step in steps:
        context.say("code", step.describe(), step.host)
    targets = {step.host: Target(context.link(step.host), step.folder, step.is_shared) for step in steps}
    how = How(first.checks_contents, _Bars(context), context.cancel)
    context.results[_OUTCOMES] = sync_all(targets, context.tree, how)


def tell(host: str, context: Context) -> None:
    """Raises what went wrong on that host. One that was left out because another failed tells nothing."""
    outcomes: Outcomes[SyncReport] = context.results[_OUTCOMES]
    if host in outcomes.failed:
        raise outcomes.failed[host]
    report = outcomes.done.get(host)
    if report and (report.sent or report.removed):
        files = f"{count(report.sent, 'file')} sent ({show_bytes(report.sent_bytes)})"
        context.say("code", f"{files}, {report.removed} removed", host)


class _Bars:
    """A bar per host; at most a hundred events each. Every piece is a chance to end for Ctrl-C."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._shown: dict[str, int] = {}

    def __call__(self, host: str, done: int, total: int) -> None:
        if self._context.cancelled.is_set():
            self._context.say("code", "stopping", host)
        percent = 100 * done // total if total >= _SHOWN_FROM else 0
        if self._shown.get(host, 0) < percent:
            self._shown[host] = percent
            self._context.say("code", f"sending {show_bytes(total)}", host, done=done, total=total)
