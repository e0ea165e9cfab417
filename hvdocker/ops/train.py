"""Train: place the ranks, sync the code, start the master, follow it to the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.commands.launch import Horovodrun
from hvdocker.commands.worker import Place
from hvdocker.errors import HostUnreachable, Interrupted, UsageProblem, raise_together
from hvdocker.model import names
from hvdocker.model.capsule import Papers
from hvdocker.model.event import Event
from hvdocker.model.inventory import Inventory
from hvdocker.model.job import JobSpec
from hvdocker.model.offer import Request
from hvdocker.model.output import Line
from hvdocker.model.placement import Placement
from hvdocker.model.requirements import Requirements
from hvdocker.model.secret import Secret, SecretSource, parse_secrets
from hvdocker.model.seen import ClusterState, HostSeen
from hvdocker.ops import queue, watch
from hvdocker.ops.capsule import Scene, papers_of
from hvdocker.ops.command import Work, environment, work_of
from hvdocker.ops.env import Env
from hvdocker.ops.fetch import save_log
from hvdocker.ops.kept import Kept, keep_at_home
from hvdocker.ops.links import read_links
from hvdocker.ops.locate import Located, at_home
from hvdocker.ops.placing import Wanted, check_wanted, request_of
from hvdocker.ops.requirements import find_requirements, plan_workers
from hvdocker.ops.secrets import read_secret, resolved
from hvdocker.ops.session import Session, connected, with_image
from hvdocker.plan.fitness import fitness_problems
from hvdocker.plan.offers import offers_to_job
from hvdocker.plan.owner import refuse_foreign_owner
from hvdocker.plan.places import places
from hvdocker.plan.placing import Explanation, explain, place
from hvdocker.plan.requirements import worker_image
from hvdocker.plan.secrets import ORDERLY, leftovers, remains
from hvdocker.plan.steps import Plan, plan_of
from hvdocker.plan.train import check_workers, plan_train

if TYPE_CHECKING:
    from hvdocker.hosts.apply import Context
    from hvdocker.hosts.link import HostLink
    from hvdocker.hosts.locks import Held
    from hvdocker.hosts.tickets import Present


@dataclass(frozen=True)
class TrainRequest:
    script: str | None = None
    module: str | None = None
    rest: tuple[str, ...] = ()
    np: int | None = None
    hosts: str | None = None
    strategy: str | None = None
    gpu: str | None = None
    include: str | None = None
    exclude: str | None = None
    workdir: Path | None = None
    requirements: Path | None = None
    ignores_requirements: bool = False
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    start_timeout_s: int = 120
    tuning: tuple[str, ...] = ()
    checksum: bool = False
    is_detached: bool = False
    is_queued: bool = False
    is_dry_run: bool = False
    accept_new_host_keys: bool = False
    # Long enough for another `train` to start: who loses a race is told who holds the slots.
    lock_wait_s: float = 60.0
    is_forced: bool = False
    # The job that this one repeats.
    replay: Kept | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.np, self.hosts, self.strategy, self.gpu, self.include, self.exclude)


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
    line: watch.OnLine = lambda line: None
    stopping: Callable[[], None] = lambda: None
    explained: Callable[[Explanation], None] | None = None


@dataclass(frozen=True)
class TrainReport:
    job: str
    placement: Placement
    plan: Plan
    hosts: Mapping[str, HostSeen]
    end: watch.JobEnd | None = None
    last_lines: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Wish:
    """What is asked for, read and checked before a host is touched."""

    request: TrainRequest
    work: Work
    requirements: Requirements | None
    variables: Mapping[str, str]
    secrets: Mapping[SecretSource, Secret[bytes]]


@dataclass(frozen=True)
class _Decision:
    """The whole plan is the report's; `fitting`, its first stages, is that of the workers. `remains` is left
    to do when the job has ended as it should not."""

    report: TrainReport
    fitting: Plan
    context: Context
    remains: Plan
    papers: Papers


def prepare(env: Env, located: Located, request: TrainRequest) -> Wish:
    """Reads all that is needed from here; once, because secrets may come from pipes."""
    _check(request)
    work = work_of(env.cwd, request.script, request.module, request.rest, request.workdir)
    requirements = _requirements(env, request, work)
    variables = environment(located.inventory.env, list(request.env), env.environ)
    secrets = {source: read_secret(env.cwd, source, env.environ) for source in parse_secrets(request.secrets)}
    return Wish(request, work, requirements, variables, secrets)


def train(
    env: Env, located: Located, request: TrainRequest, viewer: Viewer, wish: Wish | None = None
) -> TrainReport:
    """`wish` is what the request was prepared into, where that was done before."""
    wish = wish or prepare(env, located, request)
    with connected(env, located, request.accept_new_host_keys, must_all=False) as session:
        located = with_image(located, session)
        if request.is_dry_run:
            return _decide(env, located, session, wish, viewer).report
        launch = partial(_launch, env, located, session, wish, viewer)
        if request.is_queued:
            place = partial(_choose, env, located, request)
            wanted = queue.wish_words(request.np, request.hosts)
            decision = queue.wait_in_queue(env, located, session, wanted, place, launch)
        else:
            decision = launch()
        report = decision.report
        keep_at_home(env, located, decision.papers)
        viewer.started(Started(report.job, report.placement, report.placement.np))
        if request.is_detached:
            return report
        return _follow(located, session, report, viewer, partial(_clear, decision))


def _launch(
    env: Env,
    located: Located,
    session: Session,
    wish: Wish,
    viewer: Viewer,
    ticket: Present | None = None,
) -> _Decision:
    """Locked from the look at free slots until the job holds them. Whoever queues waits for locks too."""
    from hvdocker.ops.lock import locked

    started: _Decision | None = None
    wait_s = inf if ticket else wish.request.lock_wait_s
    try:
        with locked(env, located, session.links, "train", wait_s) as held:
            decision = _decide(env, located, session, wish, viewer, held, has_turn=ticket is not None)
            report, fitting, context = decision.report, decision.fitting, decision.context
            context.guard = held.check
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
        report = started.report
        link = session.links[report.placement.head]
        container = names.master_name(located.inventory.cluster, report.job)
        clear = partial(_clear, started)
        raise _interrupted(located, link, container, report.job, viewer, clear) from None
    return decision


def _decide(
    env: Env,
    located: Located,
    session: Session,
    wish: Wish,
    viewer: Viewer,
    held: Held | None = None,
    has_turn: bool = False,
) -> _Decision:
    from hvdocker.hosts.apply import Context
    from hvdocker.hosts.hash_cache import HashCache
    from hvdocker.hosts.walk import read_tree

    inventory, request, work = located.inventory, wish.request, wish.work
    state, waiting = queue.observed(located, session, held, has_turn)
    placement = queue.in_turn(partial(_choose, env, located, request), state, waiting)
    placed = places(inventory, state)
    if viewer.explained:
        offers = offers_to_job(inventory, state, placed)
        viewer.explained(explain(_request(inventory, request, placed), offers, read_links(located)))
    used = {name: placed[name] for name in placement.hosts}
    raise_together("some hosts are not fit", fitness_problems(inventory, used))
    fitting = plan_workers(session, inventory, state, placed, placement.hosts, wish.requirements, env.maker())
    for running in state.running_jobs():
        env.listener(Event("note", f"{running.job} is running: files that changed change beneath it too"))
    context = Context(inventory, session.links, env.listener)
    context.tree = read_tree(work.source, HashCache.of_user(), request.checksum)
    context.secrets = {source.name: value for source, value in wish.secrets.items()}
    job = _job(env, located, wish, placed, placement, context.tree.hash)
    image = worker_image(inventory, state, placement.head, fitting)
    tidying = leftovers(placed, state)
    papers = papers_of(env, Scene(located, session, state, fitting), wish, context.tree, job)
    plan = plan_train(
        inventory, placed, env.maker(), job, str(work.source), image, request.checksum, tidying, papers
    )
    whole = replace(plan, stages=(*fitting.stages, *plan.stages))
    viewer.plan(whole)
    left = plan_of("train", inventory.cluster, ("secrets", remains(inventory, placed, job)))
    return _Decision(TrainReport(job.job, placement, whole, state.hosts), fitting, context, left, papers)


def _check(request: TrainRequest) -> None:
    queue.check_flags(request.is_queued, request.is_detached, request.is_dry_run)
    check_wanted(request.wanted)
    if request.requirements and request.ignores_requirements:
        raise UsageProblem("--requirements and --no-requirements exclude each other")


def _requirements(env: Env, request: TrainRequest, work: Work) -> Requirements | None:
    """Beside the script; for a module or a command in the folder that is synced."""
    if request.ignores_requirements:
        return None
    script = (env.cwd / at_home(Path(request.script))).resolve() if request.script else None
    return find_requirements(env.cwd, request.requirements, script.parent if script else work.source)


def _choose(env: Env, located: Located, request: TrainRequest, state: ClusterState) -> Placement:
    inventory = located.inventory
    placed = places(inventory, state)
    check_workers(inventory, placed, state, located.flag)
    refuse_foreign_owner(inventory, state, env.maker().owner, request.is_forced)
    offers = offers_to_job(inventory, state, placed)
    return place(_request(inventory, request, placed), offers, read_links(located))


def _request(inventory: Inventory, request: TrainRequest, placed: Mapping[str, Place]) -> Request:
    addresses = {name: found.address for name, found in placed.items()}
    return request_of(request.wanted, inventory, addresses)


def _job(
    env: Env,
    located: Located,
    wish: Wish,
    placed: Mapping[str, Place],
    placement: Placement,
    code_hash: str,
) -> JobSpec:
    request, work = wish.request, wish.work
    addresses = {name: placed[name].address for name in placement.hosts}
    port = placed[placement.head].port
    last_flags = {flag.partition("=")[0]: flag for flag in request.env}
    launcher = Horovodrun(request.start_timeout_s, request.tuning)
    return JobSpec(
        job=names.job_id(work.stem, env.entropy(4)),
        cluster=located.inventory.cluster,
        placement=placement,
        addresses=addresses,
        port=port,
        command=work.command,
        launcher=launcher.argv(placement, addresses, port),
        workdir=names.CODE_MOUNT,
        env=wish.variables,
        code_hash=code_hash,
        env_from_caller=tuple(name for name, flag in last_flags.items() if "=" not in flag),
        secrets=tuple(resolved(env.cwd, source) for source in wish.secrets),
    )


def _start(plan: Plan, context: Context, held: Held) -> None:
    """Where the lock went to another run, that run may build on what this one made."""
    from hvdocker.hosts.apply import apply, roll_back

    try:
        apply(plan, context)
    except BaseException:
        if not held.is_lost:
            roll_back(context)
        raise


def _clear(decision: _Decision, end: watch.JobEnd) -> None:
    """A supervisor that was killed could not do it; where this fails, the next `train` does it."""
    if end.exit_code in ORDERLY or decision.remains.is_empty:
        return
    from hvdocker.hosts.apply import Context, apply_all

    context = decision.context
    # The locks of the launch are no business of what is done now.
    apply_all(decision.remains, Context(context.inventory, context.links, context.listener))


def _follow(
    located: Located,
    session: Session,
    report: TrainReport,
    viewer: Viewer,
    clear: Callable[[watch.JobEnd], None],
) -> TrainReport:
    link = session.links[report.placement.head]
    container = names.master_name(located.inventory.cluster, report.job)
    last: dict[int, tuple[str, ...]] = {}

    def keep(line: Line) -> None:
        if line.rank is not None and line.text.strip():
            last[line.rank] = (*last.get(line.rank, ())[-9:], line.text)
        viewer.line(line)

    try:
        return _to_the_end(located, link, container, report, keep, last, viewer, clear)
    except HostUnreachable as error:
        again = f"hvdocker logs -f {report.job}{located.flag}"
        error.fix = f"the job goes on without this terminal; watch it with: {again}"
        raise


def _to_the_end(
    located: Located,
    link: HostLink,
    container: str,
    report: TrainReport,
    keep: watch.OnLine,
    last: Mapping[int, tuple[str, ...]],
    viewer: Viewer,
    clear: Callable[[watch.JobEnd], None],
) -> TrainReport:
    try:
        watch.follow(link, container, report.placement, keep)
    except KeyboardInterrupt:
        raise _interrupted(located, link, container, report.job, viewer, clear) from None
    end = watch.end_of(link, container)
    clear(end)
    save_log(located, report.job, link, container)
    return replace(report, end=end, last_lines=last)


def _interrupted(
    located: Located,
    link: HostLink,
    container: str,
    job: str,
    viewer: Viewer,
    clear: Callable[[watch.JobEnd], None],
) -> Interrupted:
    """Once: gracefully. Twice: at once."""
    viewer.stopping()
    try:
        watch.stop_job(link, container)
    except KeyboardInterrupt:
        watch.stop_job(link, container, at_once=True)
    clear(watch.end_of(link, container))
    save_log(located, job, link, container)
    return Interrupted(f"job {job} was stopped on all hosts by Ctrl-C")
