"""The verb `gc`: removes what is no longer used. As in `down`, the outputs of a dead run (a cluster whose
`hvdocker run` is gone) are fetched before it is removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hvdocker.cluster.down import ClusterToRemove, DownOptions, fetch_and_remove, observe_and_plan
from hvdocker.env import Env
from hvdocker.errors import ExitCode, HvdockerError, UsageProblem
from hvdocker.events import Event, ignore_events
from hvdocker.gc.leftovers import HostLeftovers
from hvdocker.gc.plan import DeadRun, combined_plan, dead_runs, plan_other_leftovers
from hvdocker.inventory.locate import Located, with_cluster_name
from hvdocker.locks.lock import clear_dead_locks
from hvdocker.plan.plan import Plan, Stage
from hvdocker.transport.session import Session, connected
from hvdocker.units import pluralize

if TYPE_CHECKING:
    from hvdocker.jobs.results.merge import FetchedFiles
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.transport.link import HostLink

Show = Callable[[Plan], None]


@dataclass(frozen=True)
class GcOptions:
    """The flags of `gc`. With `is_sure` the user is not asked. With `discard_outputs` no outputs are fetched. With
    `with_images`, hvdocker's images that no container uses are removed too. With `is_forced`, what other owners left is
    removed too. `lock_wait_s` is the longest time to wait for locks, in seconds."""

    is_sure: bool = False
    discard_outputs: bool = False
    with_images: bool = False
    is_dry_run: bool = False
    accept_new_host_keys: bool = False
    is_forced: bool = False
    lock_wait_s: float = 0.0


@dataclass
class GcReport:
    """The result of the verb `gc`. `plan` is what was planned. `runs` are the clusters of the dead runs that `gc` tried
    to remove, and `fetched` has the outputs of their jobs, by job. `errors` says what could not be reached or
    removed."""

    plan: Plan
    runs: tuple[str, ...] = ()
    fetched: dict[str, FetchedFiles] = field(default_factory=dict)
    errors: list[HvdockerError] = field(default_factory=list)


@dataclass(frozen=True)
class _Unused:
    """What is no longer used. `runs` has the dead runs by cluster name, each with its own inventory and the plan that
    removes it. `rest` is the plan that removes everything else. `errors` has the errors of hosts that could not be
    observed."""

    runs: Mapping[str, tuple[Located, ClusterToRemove]]
    rest: Plan
    errors: tuple[HvdockerError, ...]

    def plan(self, cluster: str) -> Plan:
        return combined_plan(cluster, [removal.plan for _, removal in self.runs.values()], self.rest)


def gc(env: Env, located: Located, options: GcOptions, show: Show = lambda plan: None) -> GcReport:
    """Find what is unused, call `show` with the plan, ask the user, and remove it. A dry run only shows the plan.

    Hosts that cannot be reached become errors in the report. Raise HvdockerError if the user refuses, and UsageProblem
    if the user cannot be asked; then nothing of the plan is removed. Locks and tickets of dead clients (hvdocker
    processes) are removed without a question, except in a dry run."""
    cluster = located.inventory.cluster
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        clear_dead_locks(env, located, session.links, options.is_dry_run)
        found = _find_unused(env, located, session, options, list(session.failed.values()))
        plan = found.plan(cluster)
        show(plan)
        report = GcReport(plan, errors=list(found.errors))
        if not plan.is_empty and not options.is_dry_run:
            report = _collect(env, located, session, _confirmed(env, found, options), options)
    return report


def _find_unused(
    env: Env, located: Located, session: Session, options: GcOptions, lost: list[HvdockerError]
) -> _Unused:
    from hvdocker.gc.observe import find_leftovers

    env.listener(Event("gc", "looking for what nobody uses"))
    is_local = located.inventory.is_local
    links = dict(list(session.links.items())[: 1 if is_local else None])
    seen = find_leftovers(links, options.with_images, removes_dead_tickets=not options.is_dry_run)
    mine = _removable_runs(env, seen.done, options)
    runs = _look_at_runs(env, located, session.links, mine, options)
    owner = None if options.is_forced else env.maker().owner
    is_whole = not session.failed and not seen.failed
    rest = plan_other_leftovers(located.inventory.cluster, seen.done, [run.cluster for run in mine], owner, is_whole)
    return _Unused(runs, rest, (*lost, *seen.failed.values()))


def _removable_runs(env: Env, found: Mapping[str, HostLeftovers], options: GcOptions) -> list[DeadRun]:
    """Return the dead runs that `gc` may remove: those of this user, or with --force those of all users. `found` has
    the leftovers by host.

    The user gets a note about each dead run that stays."""
    mine = []
    for run in dead_runs(found):
        if options.is_forced or run.is_of(env.maker().owner):
            mine.append(run)
        else:
            text = f"left alone: {run.cluster}, a dead run of {', '.join(run.owners)} (--force takes it too)"
            env.listener(Event("note", text))
    return mine


def _look_at_runs(
    env: Env, located: Located, links: Mapping[str, HostLink], runs: list[DeadRun], options: GcOptions
) -> dict[str, tuple[Located, ClusterToRemove]]:
    """Return, by cluster name, each dead run in `runs` with its own inventory and the plan that removes it.

    A run is left out if it may have outputs in folders that cannot be observed with this inventory. The user gets a
    note about it."""
    found = {}
    for run in runs:
        own = with_cluster_name(env, located, run.cluster)
        # In a dry run the plan also names the jobs whose code folders have files to fetch, as that of `down` does.
        down_options = DownOptions(
            discard_outputs=options.discard_outputs, is_dry_run=options.is_dry_run, is_forced=True
        )
        try:
            found[run.cluster] = own, observe_and_plan(env, own, links, down_options, ())
        except UsageProblem as error:
            env.listener(Event("note", f"left alone: {run.cluster}: {error.what} ({error.fix})"))
    return found


def _confirmed(env: Env, found: _Unused, options: GcOptions) -> _Unused:
    """Ask the user, and return what of `found` may be removed. Raise HvdockerError if the user refuses or nothing is
    left to remove, and UsageProblem if the user cannot be asked.

    The user is first asked about each dead run with a job that still trains, then about the whole removal. If some host
    could not be observed, runs that still train are kept without a question. With `options.is_sure` nothing is asked,
    and the result may be empty."""
    running = {name: removal.running() for name, (_, removal) in found.runs.items() if removal.running()}
    if found.errors and running:
        # The client of such a run may be alive, with its ticket on a host that could not be observed.
        for name in running:
            text = f"left alone: {name} still trains, and not every host could be asked who wants it"
            env.listener(Event("note", text))
        found = replace(found, runs={name: found.runs[name] for name in found.runs if name not in running})
        running = {}
    if options.is_sure:
        return found
    if not env.is_interactive:
        jobs = ", ".join(job for jobs in running.values() for job in jobs)
        raise UsageProblem(
            f"there is something to remove, and nobody to ask{f'; {jobs} still trains' if jobs else ''}",
            fix="look at it with --dry-run, then say -y",
        )
    left = {
        name
        for name, jobs in running.items()
        if not env.ask(f"{', '.join(jobs)} of {name} still trains, though its `run` is gone. End it?")
    }
    kept = replace(found, runs={name: found.runs[name] for name in found.runs if name not in left})
    steps = len(list(kept.plan("").steps))
    if not steps or not env.ask(f"Do this ({pluralize(steps, 'step')})?"):
        raise HvdockerError("nothing was done")
    return kept


def _collect(env: Env, located: Located, session: Session, agreed: _Unused, options: GcOptions) -> GcReport:
    from hvdocker.locks.lock import locked
    from hvdocker.plan.apply import Context, apply_all

    with locked(env, located, session.links, "gc", options.lock_wait_s, is_needed=False) as held:
        # Another client may have changed the hosts before we got the locks: remove only what is still unused.
        now = _find_unused(replace(env, listener=ignore_events), located, session, options, list(agreed.errors))
        runs = {name: one for name, one in now.runs.items() if _was_confirmed(agreed.runs.get(name), one)}
        rest = _still_planned(now.rest, agreed.rest)
        plan = combined_plan(located.inventory.cluster, [removal.plan for _, removal in runs.values()], rest)
        report = GcReport(plan, tuple(runs), errors=_without_duplicates(now.errors))
        for own, removal in runs.values():
            _remove_run(env, own, session, removal, held, report)
        context = Context(located.inventory, session.links, env.listener, guard=held.raise_if_lost)
        report.errors += apply_all(rest, context)
    return report


def _was_confirmed(before: tuple[Located, ClusterToRemove] | None, now: tuple[Located, ClusterToRemove]) -> bool:
    """Return whether the user confirmed the removal of this dead run, and no job has started in its cluster since.

    `now` is what is observed of the run now. `before` is what the user was shown, None if this run was not shown."""
    return before is not None and set(now[1].running()) <= set(before[1].running())


def _without_duplicates(errors: tuple[HvdockerError, ...]) -> list[HvdockerError]:
    """Return the errors without duplicates: a host that failed in both observations is reported once."""
    return list({(error.host, error.what): error for error in errors}.values())


def _remove_run(
    env: Env, own: Located, session: Session, removal: ClusterToRemove, held: HeldLocks, report: GcReport
) -> None:
    """End the jobs of one dead run, fetch their outputs (unless `removal.discard_outputs`), then remove the run.
    Results and errors are added to `report`.

    `own` is the inventory with the run's cluster name, `removal` has the plan, and `held` are the locks of the hosts.
    If a job cannot be ended or its outputs cannot be fetched, nothing of this run is removed, and `gc` goes on with the
    other runs. The only error that is raised is that of a lock that was lost before the removal."""
    try:
        done = fetch_and_remove(env, own, session, removal, held)
    except HvdockerError as error:
        if error.exit_code == ExitCode.LOCKED:
            raise
        report.errors.append(error)
        return
    report.fetched |= done.fetched
    report.errors += done.errors


def _still_planned(now: Plan, before: Plan) -> Plan:
    """Return the plan `now` with only those steps that are also in `before`, the plan that the user confirmed."""
    known = set(before.steps)
    stages = (Stage(s.name, tuple(step for step in s.steps if step in known)) for s in now.stages)
    return replace(now, stages=tuple(stage for stage in stages if stage.steps))
