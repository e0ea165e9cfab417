"""Train: place the ranks, sync the code, start the master, follow it to the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, TypeVar

from hvdocker import names
from hvdocker.cluster.plan.fitness import fitness_problems
from hvdocker.env import Env
from hvdocker.errors import HeadLost, HvdockerError, Interrupted, raise_all
from hvdocker.events import Event
from hvdocker.images.default_image import with_image
from hvdocker.inventory.locate import Located
from hvdocker.jobs import job_container
from hvdocker.jobs.capsule.capsule import CapsuleFiles
from hvdocker.jobs.capsule.store import store_capsule
from hvdocker.jobs.fetch import unmark
from hvdocker.jobs.follow import JobFollower
from hvdocker.jobs.head_loss import clean_up_lost_job
from hvdocker.jobs.outcome import Ended, JobEnd
from hvdocker.jobs.secrets.plan import ORDERLY, steps_for_ended_jobs
from hvdocker.jobs.secrets.plan import steps_after_kill as remains
from hvdocker.launchers.horovod import ElasticHorovodrun, Horovodrun
from hvdocker.launchers.launcher import Launcher
from hvdocker.observe.state import HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.link_speeds import read_links
from hvdocker.placement.offers import offers_to_job
from hvdocker.placement.strategies import Explanation, explain, settled
from hvdocker.plan.plan import Plan, plan_of
from hvdocker.protocol.job import JobSpec
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic
from hvdocker.training import queue
from hvdocker.training.make_capsule import CapsuleInputs, make_capsule
from hvdocker.training.plan.requirements import worker_image
from hvdocker.training.plan.train import plan_train
from hvdocker.training.read_secrets import resolved
from hvdocker.training.request import JobInputs, TrainRequest, prepare
from hvdocker.training.requirements import plan_workers
from hvdocker.training.slots import Relaunch, choose_slots, places_for, request_for, tell_fewer
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.locks.hold import HeldLocks
    from hvdocker.locks.tickets import HeldTicket
    from hvdocker.plan.apply import Context


T = TypeVar("T")


@dataclass(frozen=True)
class Started:
    """Told as soon as the master runs."""

    job: str
    placement: Placement
    np: int


@dataclass
class Viewer:
    """What the caller wants to see; every part may be left out."""

    plan: Callable[[Plan], None] = lambda plan: None
    started: Callable[[Started], None] = lambda started: None
    line: job_container.OnLine = lambda line: None
    stopping: Callable[[], None] = lambda: None
    explained: Callable[[Explanation], None] | None = None


@dataclass(frozen=True)
class TrainReport:
    job: str
    placement: Placement
    plan: Plan
    hosts: Mapping[str, HostSeen]
    end: JobEnd | None = None
    last_lines: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    # Those that were made because a head was lost.
    restarts_before: int = 0

    def ended(self, flag: str) -> Ended | None:
        """For the verdict; None while nobody waited for the end."""
        if self.end is None:
            return None
        return Ended(self.job, self.placement, self.end, self.last_lines, flag, self.restarts_before)


@dataclass(frozen=True)
class _Decision:
    """The whole plan is the report's; `fitting`, its first stages, is that of the workers. `remains` is left
    to do when the job has ended as it should not. `folders` are the job's, `workers` the containers with its
    ranks but for the head's, by host."""

    report: TrainReport
    job: JobSpec
    folders: Mapping[str, str]
    workers: Mapping[str, str]
    fitting: Plan
    context: Context
    remains: Plan
    papers: CapsuleFiles


def train(
    env: Env, located: Located, request: TrainRequest, viewer: Viewer, wish: JobInputs | None = None
) -> TrainReport:
    """`wish` is what the request was prepared into, where that was done before."""
    wish = wish or prepare(env, located, request)
    anew: Relaunch | None = None
    while True:
        with connected(env, located, request.accept_new_host_keys, must_all=False) as session:
            outcome = _once(env, with_image(located, session), session, wish, viewer, anew)
        if isinstance(outcome, TrainReport):
            return outcome
        anew = outcome


def _once(
    env: Env, located: Located, session: Session, wish: JobInputs, viewer: Viewer, anew: Relaunch | None
) -> TrainReport | Relaunch:
    """What became of the job; or, where its head is gone and restarts are left, how it is to go on."""
    request = wish.request
    if request.is_dry_run:
        return _decide(env, located, session, wish, viewer).report
    launch = partial(_launch, env, located, session, wish, viewer)
    if request.is_queued and anew is None:
        choose = partial(choose_slots, env, located, wish)
        wanted = queue.wish_words(request.np, request.hosts)
        decision = queue.wait_in_queue(env, located, session, wanted, choose, launch)
    elif anew:
        winding_up = partial(clean_up_lost_job, env, located, has_secrets=bool(wish.secrets))
        decision = launch_anew(partial(launch, anew=anew), anew, winding_up)
    else:
        decision = launch()
    report = decision.report
    watching = _watching(env, located, session, decision, viewer)
    try:
        store_capsule(env, located, decision.papers)
        viewer.started(Started(report.job, report.placement, report.placement.np))
    except KeyboardInterrupt:
        raise watching.interrupted() from None
    if request.is_detached:
        return report
    try:
        end = watching.to_the_end()
    except HeadLost as lost:
        return _anew(env, located, wish, decision.job, lost)
    before = decision.job.endurance.first_restart
    return replace(report, end=end, last_lines=watching.last, restarts_before=before)


def launch_anew(launch: Callable[[], T], anew: Relaunch, end: Callable[[str], None]) -> T:
    """Where that fails, the person still has to know that the head is lost; `end` does what is left to do for
    the job."""
    try:
        return launch()
    except (Interrupted, HeadLost):
        raise
    except KeyboardInterrupt:
        end(anew.job)
        raise
    except HvdockerError as error:
        end(anew.job)
        anew.lost.lines = (*anew.lost.lines, f"it could not be started anew: {error}")
        raise anew.lost from error


def _anew(env: Env, located: Located, wish: JobInputs, job: JobSpec, lost: HeadLost) -> Relaunch:
    """Raises where no restart is left."""
    most, number = wish.endurance.restarts, max(job.endurance.first_restart, lost.restart) + 1
    if number > most:
        clean_up_lost_job(env, located, job.job, has_secrets=bool(job.secrets))
        raise lost
    where = f"{job.job} is started anew on the hosts that are left"
    env.listener(Event("note", f"{lost.what}; {where} (restart {number} of {most})"))
    endurance = replace(job.endurance, restarts=most - number, first_restart=number)
    return Relaunch(job.job, endurance, job.placement.np, job.code_hash, lost)


def _watching(
    env: Env, located: Located, session: Session, decision: _Decision, viewer: Viewer
) -> JobFollower:
    return JobFollower(
        env,
        located,
        session,
        decision.job,
        decision.folders,
        decision.workers,
        # The view of lines is chosen when the job has started.
        on_line=lambda line: viewer.line(line),
        stopping=viewer.stopping,
        clear=partial(_clear, decision),
    )


def _launch(
    env: Env,
    located: Located,
    session: Session,
    wish: JobInputs,
    viewer: Viewer,
    ticket: HeldTicket | None = None,
    anew: Relaunch | None = None,
) -> _Decision:
    """Locked from the look at free slots until the job holds them. Whoever queues waits for locks too."""
    from hvdocker.locks.lock import locked

    started: _Decision | None = None
    wait_s = inf if ticket else wish.request.lock_wait_s
    try:
        with locked(env, located, session.links, "train", wait_s) as held:
            decision = _decide(env, located, session, wish, viewer, held, ticket is not None, anew)
            report, fitting, context = decision.report, decision.fitting, decision.context
            context.guard = held.check
            if anew:
                unmark(located, anew.job)
            _start(fitting, context, held)
            # Workers with the requirements are a whole cluster: what fails from here on leaves them.
            context.undo.clear()
            _start(replace(report.plan, stages=report.plan.stages[len(fitting.stages) :]), context, held)
            started = decision
            if ticket:
                ticket.leave()
    except KeyboardInterrupt:
        if started is None:
            raise
        raise _watching(env, located, session, started, viewer).interrupted() from None
    return decision


def _decide(
    env: Env,
    located: Located,
    session: Session,
    wish: JobInputs,
    viewer: Viewer,
    held: HeldLocks | None = None,
    has_turn: bool = False,
    anew: Relaunch | None = None,
) -> _Decision:
    """A job that is placed anew had its turn before."""
    from hvdocker.plan.apply import Context
    from hvdocker.sync.hash_cache import HashCache
    from hvdocker.sync.walk import read_tree

    inventory, request, work = located.inventory, wish.request, wish.work
    is_anew = anew is not None
    state, waiting = queue.observed(located, session, held, has_turn or is_anew, may_miss=is_anew)
    choose = partial(choose_slots, env, located, wish, anew=anew)
    placement = queue.in_turn(choose, state, waiting)
    tell_fewer(env, request.np, placement.np)
    placed = places_for(inventory, state, anew)
    if viewer.explained and anew is None:
        offers = offers_to_job(inventory, state, placed)
        wanted = replace(request_for(inventory, request, placed), elastic=wish.endurance.elastic)
        viewer.explained(explain(settled(wanted, placement), offers, read_links(located)))
    used = {name: placed[name] for name in placement.hosts}
    raise_all("some hosts are not fit", fitness_problems(inventory, used))
    fitting = plan_workers(session, inventory, state, placed, placement.hosts, wish.requirements, env.maker())
    for running in state.running_jobs():
        env.listener(Event("note", f"{running.job} is running: files that changed change beneath it too"))
    context = Context(inventory, session.links, env.listener)
    context.tree = read_tree(work.source, HashCache.of_user(), request.checksum)
    context.secrets = {source.name: value for source, value in wish.secrets.items()}
    if anew and anew.code_hash != context.tree.hash:
        env.listener(
            Event("note", "the code here has changed meanwhile: the job goes on with it as it is now")
        )
    job = _job(env, located, wish, placed, placement, context.tree.hash, anew)
    image = worker_image(inventory, state, placement.head, fitting)
    tidying = steps_for_ended_jobs(placed, state)
    papers = make_capsule(env, CapsuleInputs(located, session, state, fitting), wish, context.tree, job)
    plan = plan_train(
        inventory, placed, env.maker(), job, str(work.source), image, request.checksum, tidying, papers
    )
    whole = replace(plan, stages=(*fitting.stages, *plan.stages))
    viewer.plan(whole)
    left = plan_of("train", inventory.cluster, ("secrets", remains(inventory, placed, job)))
    folders = {name: f"{placed[name].folder}/jobs/{job.job}" for name in placement.hosts}
    # Ranks of an elastic job may be anywhere.
    may_have_ranks = placed if wish.endurance.elastic else placement.hosts
    workers = {name: placed[name].worker_name for name in may_have_ranks if name != placement.head}
    report = TrainReport(job.job, placement, whole, state.hosts)
    return _Decision(report, job, folders, workers, fitting, context, left, papers)


def _job(
    env: Env,
    located: Located,
    wish: JobInputs,
    placed: Mapping[str, HostPlan],
    placement: Placement,
    code_hash: str,
    anew: Relaunch | None = None,
) -> JobSpec:
    request, work = wish.request, wish.work
    addresses = {name: placed[name].address for name in placement.hosts}
    port = placed[placement.head].port
    last_flags = {flag.partition("=")[0]: flag for flag in request.env}
    endurance = anew.endurance if anew else wish.endurance
    return JobSpec(
        job=anew.job if anew else names.job_id(work.stem, env.entropy(4)),
        cluster=located.inventory.cluster,
        placement=placement,
        addresses=addresses,
        port=port,
        command=work.command,
        launcher=_launcher(request, endurance.elastic).argv(placement, addresses, port),
        workdir=names.CODE_MOUNT,
        env=wish.variables,
        code_hash=code_hash,
        env_from_caller=tuple(name for name, flag in last_flags.items() if "=" not in flag),
        secrets=tuple(resolved(env.cwd, source) for source in wish.secrets),
        endurance=endurance,
        script=work.named,
    )


def _launcher(request: TrainRequest, elastic: Elastic | None) -> Launcher:
    if elastic:
        return ElasticHorovodrun(elastic, request.start_timeout_s, request.tuning)
    return Horovodrun(request.start_timeout_s, request.tuning)


def _start(plan: Plan, context: Context, held: HeldLocks) -> None:
    """Where the lock went to another run, that run may build on what this one made."""
    from hvdocker.plan.apply import apply, roll_back

    try:
        apply(plan, context)
    except BaseException:
        if not held.is_lost:
            roll_back(context)
        raise


def _clear(decision: _Decision, end: JobEnd) -> None:
    """A supervisor that was killed could not do it; where this fails, the next `train` does it."""
    if end.exit_code in ORDERLY or decision.remains.is_empty:
        return
    from hvdocker.plan.apply import Context, apply_all

    context = decision.context
    # The locks of the launch are no business of what is done now.
    apply_all(decision.remains, Context(context.inventory, context.links, context.listener))
