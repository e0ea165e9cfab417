"""Down: bring home what was not fetched, remove what is ours, name what could not be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker.errors import HostErrors, HvdockerError, UsageProblem
from hvdocker.model.event import Event
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import HostSeen
from hvdocker.ops.env import Env
from hvdocker.ops.fetch import bring_home, mark_fetched, unfetched
from hvdocker.ops.locate import Located, forget
from hvdocker.ops.script import as_script
from hvdocker.ops.session import connected
from hvdocker.plan.down import plan_down
from hvdocker.plan.owner import refuse_foreign_owner
from hvdocker.plan.steps import Plan

if TYPE_CHECKING:
    from hvdocker.hosts.apply import Context
    from hvdocker.hosts.merge import Fetched

# Whatever goes wrong in these, nothing is removed.
_FIRST = ("jobs", "fetch")

Show = Callable[[Plan], None]


@dataclass(frozen=True)
class DownOptions:
    is_sure: bool = False
    discards: bool = False
    is_dry_run: bool = False
    accept_new_host_keys: bool = False
    is_forced: bool = False


@dataclass
class DownReport:
    plan: Plan
    fetched: dict[str, Fetched] = field(default_factory=dict)
    errors: list[HvdockerError] = field(default_factory=list)
    seen: Mapping[str, HostSeen] = field(default_factory=dict)

    def script(self, inventory: Inventory) -> str:
        return as_script(self.plan, inventory, self.seen)


def down(env: Env, located: Located, options: DownOptions, show: Show = lambda plan: None) -> DownReport:
    inventory = located.inventory
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        from hvdocker.hosts.apply import Context, apply_all
        from hvdocker.hosts.observe import as_state, observe

        outcomes = observe(inventory, session.links)
        lost = [*session.failed.values(), *outcomes.failed.values()]
        state = as_state(inventory, outcomes.done, with_images=False)
        jobs = () if options.discards else unfetched(located, state)
        refuse_foreign_owner(inventory, state, env.maker().owner, options.is_forced)
        plan = plan_down(inventory, state, jobs)
        show(plan)
        report = DownReport(plan, errors=lost, seen=state.hosts)
        if options.is_dry_run:
            return report
        _ask_about_running(env, [master.job for master in state.running_jobs()], options)

        def bring(job: str) -> None:
            folder = located.jobs / job
            env.listener(Event("fetch", f"bringing home {job}"))
            fetched = bring_home(located, session, state, job, folder)
            mark_fetched(located, job, fetched)
            report.fetched[job] = fetched

        context = Context(inventory, session.links, env.listener, fetch=bring)
        before = Plan(plan.verb, plan.cluster, tuple(s for s in plan.stages if s.name in _FIRST))
        after = Plan(plan.verb, plan.cluster, tuple(s for s in plan.stages if s.name not in _FIRST))
        _fetch_first(before, context)
        report.errors = [*lost, *apply_all(after, context)]
    if report.errors:
        raise HostErrors(
            "some hosts could not be cleaned; run hvdocker down again when they are back", report.errors
        )
    forget(located)
    return report


def _fetch_first(before: Plan, context: Context) -> None:
    from hvdocker.hosts.apply import apply

    try:
        apply(before, context)
    except HvdockerError as error:
        error.what = f"nothing was removed, because outputs could not be brought home: {error.what}"
        error.fix = "run hvdocker down again, or give the outputs up with --discard"
        raise


def _ask_about_running(env: Env, running: list[str], options: DownOptions) -> None:
    if not running or options.is_sure:
        return
    shown = ", ".join(running)
    if not env.is_interactive:
        raise UsageProblem(f"job {shown} is running", fix="wait for it, or say -y to end it")
    if not env.ask(f"Job {shown} is running. End it and take the cluster down?"):
        raise HvdockerError("nothing was done")
