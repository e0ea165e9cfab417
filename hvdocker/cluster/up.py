"""Bring a cluster up: observe, plan; lock, observe and plan again, apply; undo what this run made if it
fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.cluster.plan.addresses import host_plans as places
from hvdocker.cluster.plan.addresses import port_conflicts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.cluster.port_conflict import port_errors
from hvdocker.cluster.unreachable_hosts import unreachable_hosts
from hvdocker.env import Env
from hvdocker.errors import ExitCode, HvdockerError, UsageProblem, raise_all, worst
from hvdocker.events import Event
from hvdocker.images.default_image import with_image
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.inventory.state_folder import forget, former_hosts, former_note, point_at
from hvdocker.locks.owner import refuse_foreign_owner
from hvdocker.observe.state import ClusterState, HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.link_speeds import read_links
from hvdocker.placement.scope import asked_for, everything, explained, is_complete
from hvdocker.placement.slots import SlotRequest
from hvdocker.placement.strategies import Explanation
from hvdocker.plan.plan import Plan
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.locks.hold import HeldLocks

Show = Callable[[Plan], None]
Explain = Callable[[Explanation], None]

# What stays of a run: nothing, what it made if it failed, or everything.
KEEPS = ("never", "failed", "always")


@dataclass(frozen=True)
class UpOptions:
    accept_new_host_keys: bool = False
    is_dry_run: bool = False
    keep: str = "never"
    is_forced: bool = False
    lock_wait_s: float = 0.0
    # Some slots only; without it every host, with all that it has free.
    request: SlotRequest | None = None


@dataclass(frozen=True)
class UpReport:
    """`missing` are hosts that do not answer, and that a running elastic job goes on without."""

    plan: Plan
    places: Mapping[str, HostPlan]
    missing: tuple[HvdockerError, ...] = ()

    @property
    def hosts(self) -> dict[str, HostSeen]:
        return {name: place.seen for name, place in self.places.items()}

    @property
    def exit_code(self) -> int:
        return worst(error.exit_code for error in self.missing) if self.missing else ExitCode.OK

    def complain(self) -> None:
        """Raises where hosts were missing; what was to do on the others is done all the same."""
        raise_all("some hosts were left out", self.missing)

    @property
    def slots(self) -> int:
        return sum(place.slots for place in self.places.values())

    @property
    def ranks(self) -> int:
        """What one job can have: all GPUs, or, where there are none, all slots."""
        return sum(len(place.devices) for place in self.places.values()) or self.slots


def check_keep(keep: str) -> None:
    if keep not in KEEPS:
        raise UsageProblem(f"--keep should be never, failed or always, got {keep!r}")


def up(
    env: Env,
    located: Located,
    options: UpOptions,
    show: Show = lambda plan: None,
    tell: Explain | None = None,
) -> UpReport:
    """`tell` is told why the slots are where they are, before anything is made."""
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        located = with_image(located, session)
        first = _look(env, located, session, options)
        report, state = first.report, first.state
        if options.is_dry_run or report.plan.is_empty:
            _explain(env, located, options, state, tell)
            _show(env, report.plan, show)
            if not options.is_dry_run:
                _point(env, located)
            return report
        from hvdocker.locks.lock import locked

        links = {name: session.links[name] for name in _concerned(state, options.request)}
        with locked(env, located, links, "up", options.lock_wait_s) as held:
            # Somebody may have changed the hosts until we had the lock.
            known = None if held.has_waited or located.inventory.is_local else first
            now = _look(env, located, session, options, known)
            report, state = now.report, now.state
            _explain(env, located, options, state, tell)
            _show(env, report.plan, show)
            _point(env, located)
            _make(env, located, session, report.plan, state, held, options.keep)
            return report


@dataclass(frozen=True)
class _Sight:
    """`failed` are the hosts that it is done without."""

    report: UpReport
    state: ClusterState
    failed: Mapping[str, HvdockerError]


def _look(
    env: Env, located: Located, session: Session, options: UpOptions, known: _Sight | None = None
) -> _Sight:
    """`known` is what was seen a moment ago."""
    inventory, request = located.inventory, options.request
    state, failed = _seen(env, inventory, session, options, known)
    # Each time: the job that goes on without them may have ended.
    absent = unreachable_hosts(session.links, state, failed)
    if request:
        extent = asked_for(inventory, state, request, read_links(located))
    else:
        extent = everything(inventory, state)
    placed = places(inventory, state, extent)
    raise_all("the port is taken", port_errors(session.links, port_conflicts(state, placed), placed))
    plan = plan_up(inventory, state, placed, env.maker(), brought_public(located), absent)
    if not plan.is_empty:
        refuse_foreign_owner(inventory, state, env.maker().owner, options.is_forced)
    return _Sight(UpReport(plan, placed, tuple(failed.values())), state, failed)


def _seen(
    env: Env, inventory: Inventory, session: Session, options: UpOptions, known: _Sight | None
) -> tuple[ClusterState, Mapping[str, HvdockerError]]:
    """And which hosts could not be looked at, though they are wanted."""
    from hvdocker.observe.hosts import partial_state, seen_again

    if known:
        return seen_again(inventory, session.links, known.state), known.failed
    if options.request:
        return _usable(env, inventory, session, options), {}
    state, unfit = partial_state(inventory, session.links)
    return state, {**session.failed, **unfit}


def _show(env: Env, plan: Plan, show: Show) -> None:
    show(plan)
    for note in plan.notes:
        env.listener(Event("note", note))


def _concerned(state: ClusterState, request: SlotRequest | None) -> list[str]:
    """The hosts that may be changed."""
    excluded = request.exclude if request else ()
    return [name for name in state.hosts if name not in excluded or name in state.workers()]


def _explain(
    env: Env, located: Located, options: UpOptions, state: ClusterState, tell: Explain | None
) -> None:
    if tell is None or options.request is None:
        return
    found = explained(located.inventory, state, options.request, read_links(located))
    if found:
        tell(found)
    else:
        env.listener(Event("note", "the cluster of this request is there already, and stays where it is"))


def _usable(env: Env, inventory: Inventory, session: Session, options: UpOptions) -> ClusterState:
    """Who wants some slots only does without the hosts that cannot be used, unless they were named; or a part
    of the cluster may be there, perhaps with the master of a job that runs here."""
    from hvdocker.observe.hosts import partial_state

    state, unfit = partial_state(inventory, session.links)
    failed = {**session.failed, **unfit}
    request = options.request or SlotRequest()
    named = {*request.include, *(share.host for share in request.exact)}
    is_torn = bool(state.workers()) and not is_complete(inventory, state) and not options.is_forced
    needed = [error for name, error in failed.items() if name in named or is_torn or not state.hosts]
    raise_all("some hosts cannot be used", needed)
    for name, error in failed.items():
        if name not in request.exclude:
            env.listener(Event("note", f"left out: {error.what}", name))
    return state


def _make(
    env: Env, located: Located, session: Session, plan: Plan, state: ClusterState, held: HeldLocks, keep: str
) -> None:
    """Undoes what this run made if it fails; not where another run got the lock, and may build on it."""
    from hvdocker.plan.apply import Context, apply, roll_back

    context = Context(located.inventory, session.links, env.listener, guard=held.check)
    try:
        apply(plan, context)
    except BaseException:
        if keep == "never" and not held.is_lost and not roll_back(context) and not state.workers():
            forget(located)
        raise


def _point(env: Env, located: Located) -> None:
    """Before anything is made, so that `down` finds whatever an interrupted run leaves."""
    for reached, name in former_hosts(located).items():
        env.listener(Event("note", former_note(name, reached), name))
    before = point_at(located)
    if before:
        env.listener(
            Event("note", f"the current cluster here was that of {before}: name it with -i from now on")
        )


def brought_public(located: Located) -> str | None:
    """The user's own key is read and checked before any host is touched."""
    brought = located.inventory.keys
    if brought is None:
        return None
    from hvdocker.transport.ssh.key_pairs import read_brought

    return read_brought(Path(brought.private), Path(brought.public)).public
