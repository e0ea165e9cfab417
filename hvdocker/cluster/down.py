"""The verb down: ends running jobs, fetches job files that were not fetched yet, then removes the cluster.

Nothing is removed before all job files are fetched; with --discard they are not fetched. An error on one host
does not stop the removal on others: the report has the errors of all hosts that could not be cleaned or reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hvdocker.cluster.bring_home import HomeFetch
from hvdocker.cluster.plan.down import plan_down
from hvdocker.cluster.plan.unobserved import refuse_renamed_hosts, refuse_workers_beyond_inventory
from hvdocker.env import Env
from hvdocker.errors import ExitCode, HostErrors, HvdockerError, UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.inventory.state_folder import check_state_is_writable, forget, former_hosts, former_note
from hvdocker.jobs.fetch import find_code
from hvdocker.jobs.results.fetch_marks import unfetched_code, unfetched_jobs
from hvdocker.locks.lock import clear_dead_locks
from hvdocker.locks.owner import refuse_foreign_owner
from hvdocker.observe.state import ClusterState, HostSeen
from hvdocker.placement.scope import is_complete
from hvdocker.plan.plan import CONTROLLER, Plan
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.jobs.results.merge import FetchedFiles
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.transport.link import HostLink

Show = Callable[[Plan], None]


@dataclass(frozen=True)
class DownOptions:
    """The flags of the verb `down`.

    `is_sure`: end running jobs without asking the user. `discard_outputs`: remove job files without fetching them.
    `is_forced`: also remove a cluster that another user owns. `lock_wait_s`: how long to wait for the locks, in
    seconds."""

    is_sure: bool = False
    discard_outputs: bool = False
    is_dry_run: bool = False
    accept_new_host_keys: bool = False
    is_forced: bool = False
    lock_wait_s: float = 0.0


@dataclass
class DownReport:
    """The result of the verb `down`.

    `fetched` has the fetched files by job. `errors` are those of hosts that could not be reached or cleaned. `seen` has
    the observed hosts by name."""

    plan: Plan
    fetched: dict[str, FetchedFiles] = field(default_factory=dict)
    errors: list[HvdockerError] = field(default_factory=list)
    seen: Mapping[str, HostSeen] = field(default_factory=dict)

    @property
    def hosts(self) -> int:
        """The number of hosts that had a container or folder of the cluster."""
        return len({step.host for step in self.plan.steps} - {CONTROLLER})


@dataclass(frozen=True)
class ClusterToRemove:
    """The observed cluster and the plan to remove it.

    `unreachable` has the errors of hosts that could not be observed but may have a part of the cluster.
    `discard_outputs`: the job files are not fetched before the removal."""

    state: ClusterState
    plan: Plan
    unreachable: tuple[HvdockerError, ...]
    discard_outputs: bool = False

    def report(self) -> DownReport:
        return DownReport(self.plan, errors=list(self.unreachable), seen=self.state.hosts)

    def running(self) -> list[str]:
        return [master.job for master in self.state.running_jobs()]


def down(
    env: Env,
    located: Located,
    options: DownOptions,
    show: Show = lambda plan: None,
    agreed: Callable[[], None] = lambda: None,
) -> DownReport:
    """Take the cluster down. Raises HostErrors at the end if some hosts could not be reached or cleaned.

    `show` is called with the plan. `agreed` is called before anything is locked or removed, unless the plan is empty. A
    dry run only shows the plan. If jobs run, the user is asked first (unless `options.is_sure`): raises HvdockerError
    if the user refuses to end them, UsageProblem if the user cannot be asked."""
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        seen = observe_and_plan(env, located, session.links, options, tuple(session.failed.values()))
        if not seen.unreachable:
            for name, error in session.failed.items():
                env.listener(Event("note", f"no part of the cluster, and left alone: {error.what}", name))
        if options.is_dry_run:
            show(seen.plan)
            return seen.report()
        _ask_about_running(env, seen.running(), options)
        report = seen.report()
        if seen.plan.is_empty:
            show(seen.plan)
            clear_dead_locks(env, located, session.links)
        else:
            agreed()
            report = _take_down(env, located, session, seen, options, show)
    for reached, name in former_hosts(located).items():
        env.listener(Event("note", former_note(name, reached), name))
    if report.errors:
        raise HostErrors(
            f"some hosts could not be cleaned; run hvdocker down{located.flag} again when they are back", report.errors
        )
    try:
        forget(located)
    except UsageProblem as error:
        # The cluster is gone; only the pointer to it stays.
        env.listener(Event("note", error.what))
    return report


def observe_and_plan(
    env: Env, located: Located, links: Mapping[str, HostLink], options: DownOptions, lost: tuple[HvdockerError, ...]
) -> ClusterToRemove:
    """Observe the hosts in `links` and plan the removal of the cluster. `lost` are the errors of hosts without a link.

    In the result, hosts that could not be observed are listed as errors. The exception is a cluster that was made for
    some slots only: if the observed workers have all of these slots (`is_complete`), other hosts have no part of the
    cluster. Raises HvdockerError if another user owns the cluster, unless `options.is_forced`. Raises UsageProblem if
    the cluster has outputs in folders that were not observed, unless `options.discard_outputs`."""
    from hvdocker.observe.hosts import cluster_state, observe_hosts

    inventory = located.inventory
    outcomes = observe_hosts(inventory, links, without_gpus=links)
    state = cluster_state(inventory, outcomes.done, with_images=False)
    refuse_foreign_owner(inventory, state, env.maker().owner, options.is_forced)
    if not options.discard_outputs:
        refuse_workers_beyond_inventory(inventory, state, located.flag)
        refuse_renamed_hosts(inventory, state, located.flag)
    jobs = () if options.discard_outputs else _jobs_to_fetch(located, links, state, options.is_dry_run)
    # If the cluster was made for a number of slots, and the observed workers have them all, no other host has a
    # part of it.
    away = () if is_complete(inventory, state) else (*lost, *outcomes.failed.values())
    return ClusterToRemove(state, plan_down(inventory, state, jobs), away, options.discard_outputs)


def _jobs_to_fetch(
    located: Located, links: Mapping[str, HostLink], state: ClusterState, with_code: bool
) -> tuple[str, ...]:
    """Return the ids of the jobs whose outputs or logs were not fetched yet.

    With `with_code`, jobs with unfetched files in the code folders are added, and NO_JOB if such files belong to no
    job. A dry run needs this, because it shows these jobs in the plan. A real `down` does not, because
    `fetch_and_remove` lists the code folders again after the jobs have ended."""
    jobs = unfetched_jobs(located, state)
    code = unfetched_code(located, find_code(links, state)) if with_code else ()
    return tuple(dict.fromkeys((*jobs, *code)))


def _take_down(
    env: Env, located: Located, session: Session, seen: ClusterToRemove, options: DownOptions, show: Show
) -> DownReport:
    from hvdocker.locks.lock import locked

    links = {name: session.links[name] for name in seen.state.hosts}
    with locked(env, located, links, "down", options.lock_wait_s, is_needed=False) as held:
        # A job may have started before we had the locks: ask about jobs that the user was not asked about.
        now = observe_and_plan(env, located, links, options, seen.unreachable)
        _ask_about_running(env, [job for job in now.running() if job not in seen.running()], options)
        show(now.plan)
        return fetch_and_remove(env, located, session, now, held)


def fetch_and_remove(
    env: Env, located: Located, session: Session, seen: ClusterToRemove, held: HeldLocks
) -> DownReport:
    """End the jobs, fetch their files (unless `seen.discard_outputs`), then remove the cluster.

    `seen` has the plan, and `held` are the locks. Raises HvdockerError if a job cannot be ended or its files cannot be
    fetched: then nothing is removed. Errors of the removal itself are in the report."""
    from hvdocker.plan.apply import Context, apply, apply_all

    # Also if no job is to be fetched: files in the code folders are found only after the jobs have ended.
    if not seen.discard_outputs:
        check_state_is_writable(located)
    report = seen.report()
    home = HomeFetch(env, located, session, seen.state, report.fetched)
    context = Context(located.inventory, session.links, env.listener, fetch=home.fetch, guard=held.raise_if_lost)
    jobs, fetch, removal = _in_parts(seen.plan)
    again = f"run hvdocker down{located.flag} again"
    with _nothing_removed_on_error("a running job could not be ended", again):
        apply(jobs, context)
    if not seen.discard_outputs:
        with _nothing_removed_on_error(
            "outputs could not be brought home", f"{again}, or give the outputs up with --discard"
        ):
            apply(fetch, context)
            home.fetch_code_left()
    report.errors += apply_all(removal, context)
    return report


def _in_parts(plan: Plan) -> tuple[Plan, Plan, Plan]:
    """Return the plan in three parts: end the jobs, fetch their files, remove the cluster."""
    jobs = tuple(stage for stage in plan.stages if stage.name == "jobs")
    fetch = tuple(stage for stage in plan.stages if stage.name == "fetch")
    removal = tuple(stage for stage in plan.stages if stage.name not in ("jobs", "fetch"))
    return replace(plan, stages=jobs), replace(plan, stages=fetch), replace(plan, stages=removal)


@contextmanager
def _nothing_removed_on_error(reason: str, advice: str) -> Iterator[None]:
    """Wrap steps that come before the removal, and extend their errors.

    An error of the `with` block also says that nothing was removed, with `reason`, which says what failed. `advice` is
    added to its fix. An error about a lost lock is not changed."""
    try:
        yield
    except HvdockerError as error:
        if error.exit_code == ExitCode.LOCKED:
            raise
        error.what = f"nothing was removed, because {reason}: {error.what}"
        error.fix = f"{error.fix}; {advice}" if error.fix else advice
        raise


def _ask_about_running(env: Env, running: list[str], options: DownOptions) -> None:
    if not running or options.is_sure:
        return
    shown = ", ".join(running)
    if not env.is_interactive:
        raise UsageProblem(f"job {shown} is running", fix="wait for it, or say -y to end it")
    if not env.ask(f"Job {shown} is running. End it and take the cluster down?"):
        raise HvdockerError("nothing was done")
