"""Decides where a job goes, and plans the steps that start it. Changes nothing on a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.cluster.plan.fitness import fitness_problems
from hvdocker.env import Env
from hvdocker.errors import raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import CapsuleFiles
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.secrets.plan import steps_after_kill, steps_for_ended_jobs
from hvdocker.launchers.choose import LauncherChoice
from hvdocker.launchers.launcher import START_TIMEOUT_S, Launcher, LaunchRequest
from hvdocker.observe.cluster_image import with_image_of_workers
from hvdocker.observe.state import ClusterState
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.link_speeds import read_link_speeds
from hvdocker.placement.offers import offers_to_job
from hvdocker.placement.strategies import explain, request_as_placed
from hvdocker.placement.strategies.explain import Explanation
from hvdocker.plan.plan import Plan, plan_of
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement
from hvdocker.training import queue
from hvdocker.training.choose_slots import (
    as_pool,
    choose_slots,
    host_plans_for,
    note_fewer_ranks,
    note_waiting_ranks,
    slot_request_for,
)
from hvdocker.training.inputs.read_secrets import with_absolute_path
from hvdocker.training.inputs.request import JobInputs, TrainRequest, check_launcher
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.job_launcher import launcher_of_job, refuse_other_format, refuse_unfit_image
from hvdocker.training.make_capsule import CapsuleInputs, make_capsule
from hvdocker.training.plan.master_port import choose_master_port, port_count, ports_of_living_jobs
from hvdocker.training.plan.train import plan_train
from hvdocker.training.plan.worker_images import worker_image
from hvdocker.training.relaunch import Relaunch
from hvdocker.training.report import TrainReport, Viewer
from hvdocker.training.requirements import plan_workers
from hvdocker.transport.session import Session

if TYPE_CHECKING:
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.plan.apply import Context
    from hvdocker.sync.tree import Tree


@dataclass(frozen=True)
class Decision:
    """The placement of a job, and the plans that start it.

    `workers_plan` is applied first: it replaces workers that lack the right image. Then `job_plan` starts the job.
    `report` has both as one plan. `context` is the context in which both are applied. `cleanup` is a plan that removes
    the secrets; it is applied only if the supervisor is killed. `folders` has the path of the job's folder by host.
    `workers` has, by host, the name of the worker that may run ranks. The head is left out, because its ranks run in
    the master."""

    report: TrainReport
    job: JobSpec
    folders: Mapping[str, str]
    workers: Mapping[str, str]
    workers_plan: Plan
    job_plan: Plan
    context: Context
    cleanup: Plan
    capsule: CapsuleFiles


def decide(
    env: Env,
    located: Located,
    session: Session,
    inputs: JobInputs,
    viewer: Viewer,
    held: HeldLocks | None = None,
    has_turn: bool = False,
    relaunch: Relaunch | None = None,
) -> Decision:
    """Observe the hosts, choose the job's placement and plan its start. Changes nothing on a host. Raises
    NotEnoughSlots if too few slots are free, or if other commands wait for slots.

    `viewer` gets the plan. `held` are the locks, None in a dry run. `has_turn` means that the job waited in the
    queue and is first now, so tickets of others are ignored. `relaunch` is given if the job lost its head and is
    started again; then tickets of others are ignored too."""
    from hvdocker.plan.apply import Context

    request, work = inputs.request, inputs.user_command
    is_relaunch = relaunch is not None
    state, waiting = queue.observe_with_queue(located, session, held, has_turn or is_relaunch, may_miss=is_relaunch)
    located = replace(located, inventory=with_image_of_workers(located.inventory, state))
    inventory = located.inventory
    choice = launcher_of_job(inventory, request, state)
    check_launcher(choice.launcher, request, inputs.resilience)
    choose = partial(choose_slots, env, located, inputs, relaunch=relaunch)
    placement = queue.place_unless_others_wait(choose, state, waiting)
    note_ranks = note_waiting_ranks if choice.launcher.is_pool else note_fewer_ranks
    note_ranks(env, request.np or 0, placement.np)
    host_plans = host_plans_for(inventory, state, relaunch)
    if viewer.explained and relaunch is None:
        viewer.explained(_explanation(located, state, host_plans, inputs, placement, choice.launcher))
    used = {name: host_plans[name] for name in placement.hosts}
    raise_all("some hosts are not fit", fitness_problems(inventory, used))
    refuse_other_format(inventory, state, placement.hosts)
    workers_plan = plan_workers(
        session, inventory, state, host_plans, placement.hosts, inputs.requirements, env.maker()
    )
    for running in state.running_jobs():
        env.listener(Event("note", f"{running.job} is running: files that changed change beneath it too"))
    context = Context(inventory, session.links, env.listener)
    context.tree = _read_code(work, request.checksum)
    refuse_unfit_image(inventory, state, placement.hosts, choice, inputs, context.tree.entries)
    context.secrets = {source.name: value for source, value in inputs.secrets.items()}
    if relaunch and relaunch.code_hash != context.tree.hash:
        env.listener(Event("note", "the code here has changed meanwhile: the job goes on with it as it is now"))
    port = _master_port(session, state, placement, inventory.is_local)
    decided = _JobPlan(host_plans, placement, choice, port, relaunch)
    job = _job(env, located, inputs, decided, context.tree.hash)
    capsule_inputs = CapsuleInputs(located, session, state, workers_plan)
    capsule = make_capsule(env, capsule_inputs, inputs, context.tree, job)
    image = worker_image(inventory, state, placement.head, workers_plan)
    tidying = steps_for_ended_jobs(host_plans, state)
    job_plan = plan_train(
        inventory, host_plans, env.maker(), job, str(work.source), image, request.checksum, tidying, capsule
    )
    whole = replace(job_plan, stages=(*workers_plan.stages, *job_plan.stages))
    viewer.plan(whole)
    return Decision(
        report=TrainReport(job.job, placement, whole, state.hosts, np=job.np),
        job=job,
        folders={name: f"{host_plans[name].folder}/jobs/{job.job}" for name in placement.hosts},
        workers=_workers_with_ranks(decided, inputs),
        workers_plan=workers_plan,
        job_plan=job_plan,
        context=context,
        cleanup=plan_of("train", inventory.cluster, ("secrets", steps_after_kill(inventory, host_plans, job))),
        capsule=capsule,
    )


def _explanation(
    located: Located,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    inputs: JobInputs,
    placement: Placement,
    launcher: Launcher,
) -> Explanation:
    """Return what `--explain` shows: `placement` beside the other placements of the same size. `host_plans` has the
    host plans by host."""
    offers = offers_to_job(located.inventory, state, host_plans)
    asked = slot_request_for(located.inventory, inputs.request, host_plans)
    wanted = as_pool(replace(asked, elastic=inputs.resilience.elastic), launcher)
    return explain(request_as_placed(wanted, placement), offers, read_link_speeds(located))


def _workers_with_ranks(decided: _JobPlan, inputs: JobInputs) -> dict[str, str]:
    """Return, by host, the name of the worker that may run ranks. The head is left out, because its ranks run in the
    master."""
    # An elastic job may have ranks on every host of the cluster.
    hosts = decided.host_plans if inputs.resilience.elastic else decided.placement.hosts
    return {name: decided.host_plans[name].worker_name for name in hosts if name != decided.placement.head}


def _read_code(work: UserCommand, checksum: bool) -> Tree:
    """Return the files of the code folder of the user command `work`. With `checksum` all files are hashed, else only
    those that have changed since they were last hashed. Raises UsageProblem if the script is not among the files that
    would be sent to the hosts."""
    from hvdocker.sync.hash_cache import HashCache
    from hvdocker.sync.walk import read_tree

    tree = read_tree(work.source, HashCache.of_user(), checksum)
    work.refuse_unsent_script(tree.entries)
    return tree


@dataclass(frozen=True)
class _JobPlan:
    """What was decided about a job: its placement, its launcher, and the first of its ports. `host_plans` has the host
    plans by host. `relaunch` is None unless the job lost its head and starts again."""

    host_plans: Mapping[str, HostPlan]
    placement: Placement
    choice: LauncherChoice
    master_port: int
    relaunch: Relaunch | None = None


def _job(env: Env, located: Located, inputs: JobInputs, decided: _JobPlan, code_hash: str) -> JobSpec:
    request, work, relaunch = inputs.request, inputs.user_command, decided.relaunch
    placement, launcher = decided.placement, decided.choice.launcher
    last_flags = {flag.partition("=")[0]: flag for flag in request.env}
    resilience = relaunch.resilience if relaunch else inputs.resilience
    asked = LaunchRequest(
        placement=placement,
        addresses={name: decided.host_plans[name].address for name in placement.hosts},
        port=decided.host_plans[placement.head].port,
        np=_ranks(decided, request),
        elastic=resilience.elastic,
        flags=request.tuning,
        start_timeout_s=START_TIMEOUT_S if request.start_timeout_s is None else request.start_timeout_s,
        fails_fast=request.fails_fast,
    )
    return JobSpec(
        job=relaunch.job if relaunch else names.job_id(work.stem, env.entropy(4)),
        cluster=located.inventory.cluster,
        placement=placement,
        addresses=asked.addresses,
        port=asked.port,
        command=work.command,
        launcher=JobLauncher(launcher.name, launcher.options(asked), decided.choice.reason),
        launcher_preview=launcher.preview(asked),
        master_port=decided.master_port,
        np=asked.np,
        workdir=names.CODE_MOUNT,
        env=inputs.variables,
        code_hash=code_hash,
        env_from_caller=tuple(name for name, flag in last_flags.items() if "=" not in flag),
        secrets=tuple(with_absolute_path(env.cwd, source) for source in inputs.secrets),
        resilience=resilience,
        script=work.display_name,
    )


def _ranks(decided: _JobPlan, request: TrainRequest) -> int:
    """Return the number of ranks of the job. It may be larger than the number of slots if the launcher is a pool, in
    which ranks wait for a free slot."""
    if not decided.choice.launcher.is_pool:
        return decided.placement.np
    return request.np or (decided.relaunch.np if decided.relaunch else decided.placement.np)


def _master_port(session: Session, state: ClusterState, placement: Placement, is_local: bool) -> int:
    """Return the first port of a block of ports that are free on all hosts of the job. In a local cluster only the
    ports of other jobs count as taken, because the containers there have networks of their own."""
    from hvdocker.observe.listening import see_listening_ports

    links = {} if is_local else {name: session.links[name] for name in placement.hosts}
    seen = [one for host in state.hosts.values() for one in (*host.containers, *host.other_containers)]
    taken = ports_of_living_jobs(seen) | (see_listening_ports(links) if links else frozenset())
    return choose_master_port(port_count(placement), taken)
