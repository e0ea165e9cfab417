"""The verb up: creates the workers of a cluster, or brings an existing cluster in line with the inventory.

It observes the hosts and plans. If there is something to do, it takes the locks, observes and plans again, and
applies the plan. If that fails, it removes what it created (see --keep). An `up` of a healthy cluster has an empty
plan and takes no lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import ExitCode, HvdockerError, UsageProblem, gravest_exit_code, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.inventory.state_folder import forget, former_hosts, former_note, point_at
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    # At run time these are imported while the hosts are being connected to.
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.observe.state import ClusterState, HostSeen
    from hvdocker.placement.host_plan import HostPlan
    from hvdocker.placement.slots import SlotRequest
    from hvdocker.placement.strategies import Explanation
    from hvdocker.plan.plan import Plan

Show = Callable[["Plan"], None]
Explain = Callable[["Explanation"], None]

# Values of --keep: when to keep what was created. "failed" keeps it if the run or its job failed. A failed `up`
# removes what it created only with "never".
KEEP_CHOICES = ("never", "failed", "always")


@dataclass(frozen=True)
class UpOptions:
    """The flags of `up`. `lock_wait_s` is how long to wait for the locks, in seconds.

    `keep` says what happens to what a failed `up` created: `never` removes it; `failed` and `always` keep it.
    `is_forced`: also change a cluster that another user owns. `request` says which slots to use; None means all free
    slots of every host."""

    accept_new_host_keys: bool = False
    is_dry_run: bool = False
    keep: str = "never"
    is_forced: bool = False
    lock_wait_s: float = 0.0
    # The slots to use; None means all free slots of every host.
    request: SlotRequest | None = None


@dataclass(frozen=True)
class UpReport:
    """The result of the verb `up`: the plan, and in `host_plans` the plan of each host.

    `missing` are the errors of hosts that do not answer and belong to a running elastic job. Such hosts do not stop
    `up`, because the job runs on without them."""

    plan: Plan
    host_plans: Mapping[str, HostPlan]
    missing: tuple[HvdockerError, ...] = ()

    @property
    def hosts(self) -> dict[str, HostSeen]:
        return {name: place.seen for name, place in self.host_plans.items()}

    @property
    def exit_code(self) -> int:
        return gravest_exit_code(error.exit_code for error in self.missing) if self.missing else ExitCode.OK

    def raise_errors(self) -> None:
        """Raise HvdockerError if hosts did not answer (`missing`). The plan for the other hosts was carried out
        nevertheless."""
        raise_all("some hosts were left out", self.missing)

    @property
    def slots(self) -> int:
        return sum(place.slots for place in self.host_plans.values())

    @property
    def ranks(self) -> int:
        """The number of ranks of a job that gets all GPUs, or all slots if there are no GPUs."""
        return sum(len(place.devices) for place in self.host_plans.values()) or self.slots


def check_keep(keep: str) -> None:
    """Raise UsageProblem if the value of --keep is unknown."""
    if keep not in KEEP_CHOICES:
        raise UsageProblem(f"--keep should be never, failed or always, got {keep!r}")


def up(
    env: Env, located: Located, options: UpOptions, show: Show = lambda plan: None, tell: Explain | None = None
) -> UpReport:
    """Bring the cluster up, and return the plan and the hosts.

    `show` is called with the plan before the plan is applied. `tell` is called with an explanation of the placement if
    `options.request` is given. No lock is taken for a dry run or an empty plan. If applying the plan fails, what this
    `up` created is removed (unless `options.keep` says otherwise), and the error is raised."""
    with connected(env, located, options.accept_new_host_keys, must_all=False) as session:
        from hvdocker.cluster.look_and_plan import explain_placement, look_and_plan
        from hvdocker.images.default_image import with_default_image

        located = with_default_image(located, session)
        first = look_and_plan(env, located, session, options)
        report, state = first.report, first.state
        if options.is_dry_run or report.plan.is_empty:
            explain_placement(env, located, options, state, tell)
            _show(env, report.plan, show)
            if not options.is_dry_run:
                _point_at_cluster(env, located)
            return report
        from hvdocker.locks.lock import locked

        links = {name: session.links[name] for name in _hosts_to_lock(state, options.request)}
        with locked(env, located, links, "up", options.lock_wait_s) as held:
            # Hosts may have changed before we had the locks. If there was no wait, only what others can have
            # changed is observed again.
            known = None if held.has_waited or located.inventory.is_local else first
            now = look_and_plan(env, located, session, options, known)
            report, state = now.report, now.state
            explain_placement(env, located, options, state, tell)
            _show(env, report.plan, show)
            _point_at_cluster(env, located)
            _apply_or_roll_back(env, located, session, report.plan, state, held, options.keep)
            return report


def _show(env: Env, plan: Plan, show: Show) -> None:
    show(plan)
    for note in plan.notes:
        env.listener(Event("note", note))


def _hosts_to_lock(state: ClusterState, request: SlotRequest | None) -> list[str]:
    """Return the hosts that `up` may change: hosts that the request does not exclude, and hosts that have a worker."""
    excluded = request.exclude if request else ()
    return [name for name in state.hosts if name not in excluded or name in state.workers()]


def _apply_or_roll_back(
    env: Env, located: Located, session: Session, plan: Plan, state: ClusterState, held: HeldLocks, keep: str
) -> None:
    """Apply the plan. If that fails, remove what was created if `keep` is "never", and raise the error again.

    `held` are the locks. Nothing is removed if a lock was lost to another hvdocker process, because that process may
    already use what was created. `state` was observed before the plan. If it had no worker, and everything created was
    removed, no cluster is left: then its entry in .hvdocker is removed too (`forget`)."""
    from hvdocker.plan.apply import Context, apply, roll_back

    context = Context(located.inventory, session.links, env.listener, guard=held.raise_if_lost)
    try:
        apply(plan, context)
    except BaseException:
        if keep == "never" and not held.is_lost and not roll_back(context) and not state.workers():
            forget(located)
        raise


def _point_at_cluster(env: Env, located: Located) -> None:
    """Make this the current cluster of the user's folder. Verbs without -i then use it.

    Sends notes on hosts that are no longer in the inventory, and on another cluster that was current before. `up` calls
    this before it creates anything, so that `down` finds what an interrupted `up` leaves."""
    for reached, name in former_hosts(located).items():
        env.listener(Event("note", former_note(name, reached), name))
    before = point_at(located)
    if before:
        env.listener(Event("note", f"the current cluster here was that of {before}: name it with -i from now on"))


def user_public_key(located: Located) -> str | None:
    """Return the public half of the user's own key pair, None if the inventory names no keys.

    Raises UsageProblem if the key pair is missing or damaged. `up` reads the key before it changes any host."""
    key_pair = located.inventory.keys
    if key_pair is None:
        return None
    from hvdocker.transport.ssh.key_pairs import read_user_key_pair

    return read_user_key_pair(Path(key_pair.private), Path(key_pair.public)).public
