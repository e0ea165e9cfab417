"""Launches a job: decides its placement and starts it while it holds the locks of the hosts.

Also creates the JobFollower, which shows the output of the started job until its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, TypeVar

from hvdocker.env import Env
from hvdocker.events import Event, EventListener
from hvdocker.inventory.locate import Located
from hvdocker.jobs.follow import JobFollower
from hvdocker.jobs.outcome import JobEnd
from hvdocker.jobs.results.fetch_marks import clear_fetched_hosts
from hvdocker.jobs.secrets.plan import CLEAN_EXIT_CODES
from hvdocker.plan.plan import Plan
from hvdocker.training.decide import Decision, decide
from hvdocker.training.inputs.request import JobInputs
from hvdocker.training.relaunch import Relaunch
from hvdocker.training.report import Viewer
from hvdocker.transport.session import Session

if TYPE_CHECKING:
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.locks.held_ticket import HeldTicket
    from hvdocker.plan.apply import Context

# How often a sync is tried if files change while they are sent.
SYNC_TRIES = 3

Decided = TypeVar("Decided")


def follower_of(env: Env, located: Located, session: Session, decision: Decision, viewer: Viewer) -> JobFollower:
    return JobFollower(
        env,
        located,
        session,
        decision.job,
        decision.folders,
        decision.workers,
        # `viewer.line` is replaced when the job has started, so it is looked up for every line.
        on_line=lambda line: viewer.line(line),
        stopping=viewer.stopping,
        clean_up=partial(_clean_up, decision),
    )


def launch(
    env: Env,
    located: Located,
    session: Session,
    inputs: JobInputs,
    viewer: Viewer,
    ticket: HeldTicket | None = None,
    relaunch: Relaunch | None = None,
) -> Decision:
    """Start the job and return what was decided for it. Raises NotEnoughSlots if too few slots are free.

    The locks of the hosts are held from the search for free slots until the master runs. From then on the master's
    label holds the slots as a lease. `ticket` is given if the job waited in the queue: then there is no limit to the
    wait for the locks, and the ticket is removed when the master runs. `relaunch` is given if the job lost its head
    and is started again. On Ctrl-C after the start the job is stopped."""
    from hvdocker.locks.lock import locked

    started: Decision | None = None
    wait_s = inf if ticket else inputs.request.lock_wait_s
    try:
        with locked(env, located, session.links, "train", wait_s) as held:
            choose = partial(decide, env, located, session, inputs, viewer, held, ticket is not None, relaunch)
            start = partial(_decide_and_start, choose, located, held, relaunch)
            started = decision = repeat_if_code_changes(start, env.listener)
            if ticket:
                ticket.leave()
    except KeyboardInterrupt:
        if started is None:
            raise
        raise follower_of(env, located, session, started, viewer).stop_on_ctrl_c() from None
    return decision


def repeat_if_code_changes(start: Callable[[], Decided], listener: EventListener) -> Decided:
    """Call `start`, which decides on a job and starts it, and return its result.

    If a file of the code changes during the sync (`start` raises CodeChanged), send a note to `listener` and call
    `start` again. The decision has to be made again too, because it contains the hash of the code. CodeChanged of the
    last of SYNC_TRIES calls is raised."""
    from hvdocker.sync.file_errors import CodeChanged

    for _ in range(SYNC_TRIES - 1):
        try:
            return start()
        except CodeChanged as error:
            listener(Event("note", f"{error.path} changed while it was being synced: the sync begins again"))
    return start()


def _decide_and_start(
    choose: Callable[[], Decision], located: Located, held: HeldLocks, relaunch: Relaunch | None
) -> Decision:
    decision = choose()
    context = decision.context
    context.guard = held.raise_if_lost
    if relaunch:
        clear_fetched_hosts(located, relaunch.job)
    _start(decision.workers_plan, context, held)
    # Workers with the requirements are a complete cluster: a later failure does not remove them.
    context.undo.clear()
    _start(decision.job_plan, context, held)
    return decision


def _start(plan: Plan, context: Context, held: HeldLocks) -> None:
    """Apply the plan. If that fails, remove what this command created, and raise the error.

    Nothing is removed if another command took over one of the locks (`held`), because that command may already use what
    this one created."""
    from hvdocker.plan.apply import apply, roll_back

    try:
        apply(plan, context)
    except BaseException:
        if not held.is_lost:
            roll_back(context)
        raise


def _clean_up(decision: Decision, end: JobEnd) -> None:
    """Remove the job's secrets from its hosts if the supervisor was killed and so could not remove them. The master's
    exit code in `end` shows whether it was killed. `decision.cleanup` is the plan that removes the secrets.

    Errors are ignored, because the next `train` removes what is left."""
    if end.exit_code in CLEAN_EXIT_CODES or decision.cleanup.is_empty:
        return
    from hvdocker.plan.apply import Context, apply_all

    context = decision.context
    # A new context: the guard of the old one checks the locks of the launch, which are released.
    apply_all(decision.cleanup, Context(context.inventory, context.links, context.listener))
