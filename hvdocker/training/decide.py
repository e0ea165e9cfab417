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
from hvdocker.launchers.horovod import ElasticHorovodrun, Horovodrun
from hvdocker.launchers.launcher import Launcher
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.link_speeds import read_link_speeds
from hvdocker.placement.offers import offers_to_job
from hvdocker.placement.strategies import explain, request_as_placed
from hvdocker.plan.plan import Plan, plan_of
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic
from hvdocker.training import queue
from hvdocker.training.choose_slots import choose_slots, host_plans_for, note_fewer_ranks, slot_request_for
from hvdocker.training.inputs.read_secrets import with_absolute_path
from hvdocker.training.inputs.request import JobInputs, TrainRequest
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.make_capsule import CapsuleInputs, make_capsule
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

    `viewer` gets the plan. `held` are the locks, None in a dry run. `has_turn` means that the job waited in the queue
    and is the first, so tickets of others are ignored. `relaunch` is given if the job lost its head; it does not queue
    again."""
    from hvdocker.plan.apply import Context

    inventory, request, work = located.inventory, inputs.request, inputs.user_command
    is_relaunch = relaunch is not None
    state, waiting = queue.observe_with_queue(located, session, held, has_turn or is_relaunch, may_miss=is_relaunch)
    choose = partial(choose_slots, env, located, inputs, relaunch=relaunch)
    placement = queue.place_unless_others_wait(choose, state, waiting)
    note_fewer_ranks(env, request.np, placement.np)
    placed = host_plans_for(inventory, state, relaunch)
    if viewer.explained and relaunch is None:
        offers = offers_to_job(inventory, state, placed)
        wanted = replace(slot_request_for(inventory, request, placed), elastic=inputs.resilience.elastic)
        viewer.explained(explain(request_as_placed(wanted, placement), offers, read_link_speeds(located)))
    used = {name: placed[name] for name in placement.hosts}
    raise_all("some hosts are not fit", fitness_problems(inventory, used))
    workers_plan = plan_workers(session, inventory, state, placed, placement.hosts, inputs.requirements, env.maker())
    for running in state.running_jobs():
        env.listener(Event("note", f"{running.job} is running: files that changed change beneath it too"))
    context = Context(inventory, session.links, env.listener)
    context.tree = _read_code(work, request.checksum)
    context.secrets = {source.name: value for source, value in inputs.secrets.items()}
    if relaunch and relaunch.code_hash != context.tree.hash:
        env.listener(Event("note", "the code here has changed meanwhile: the job goes on with it as it is now"))
    job = _job(env, located, inputs, placed, placement, context.tree.hash, relaunch)
    image = worker_image(inventory, state, placement.head, workers_plan)
    tidying = steps_for_ended_jobs(placed, state)
    capsule_inputs = CapsuleInputs(located, session, state, workers_plan)
    capsule = make_capsule(env, capsule_inputs, inputs, context.tree, job)
    job_plan = plan_train(
        inventory, placed, env.maker(), job, str(work.source), image, request.checksum, tidying, capsule
    )
    whole = replace(job_plan, stages=(*workers_plan.stages, *job_plan.stages))
    viewer.plan(whole)
    cleanup = plan_of("train", inventory.cluster, ("secrets", steps_after_kill(inventory, placed, job)))
    folders = {name: f"{placed[name].folder}/jobs/{job.job}" for name in placement.hosts}
    # An elastic job may have ranks on every host of the cluster.
    may_have_ranks = placed if inputs.resilience.elastic else placement.hosts
    workers = {name: placed[name].worker_name for name in may_have_ranks if name != placement.head}
    report = TrainReport(job.job, placement, whole, state.hosts)
    return Decision(report, job, folders, workers, workers_plan, job_plan, context, cleanup, capsule)


def _read_code(work: UserCommand, checksum: bool) -> Tree:
    """Read the code folder of the user command `work`. With `checksum` all files are hashed, else only those that have
    changed since they were last hashed. Raises UsageProblem if the script is not a part of what would be sent."""
    from hvdocker.sync.hash_cache import HashCache
    from hvdocker.sync.walk import read_tree

    tree = read_tree(work.source, HashCache.of_user(), checksum)
    work.refuse_unsent_script(tree.entries)
    return tree


def _job(
    env: Env,
    located: Located,
    inputs: JobInputs,
    placed: Mapping[str, HostPlan],
    placement: Placement,
    code_hash: str,
    relaunch: Relaunch | None = None,
) -> JobSpec:
    request, work = inputs.request, inputs.user_command
    addresses = {name: placed[name].address for name in placement.hosts}
    port = placed[placement.head].port
    last_flags = {flag.partition("=")[0]: flag for flag in request.env}
    resilience = relaunch.resilience if relaunch else inputs.resilience
    words = _launcher(request, resilience.elastic).argv(placement, addresses, port)
    return JobSpec(
        job=relaunch.job if relaunch else names.job_id(work.stem, env.entropy(4)),
        cluster=located.inventory.cluster,
        placement=placement,
        addresses=addresses,
        port=port,
        command=work.command,
        launcher=JobLauncher("horovod", {"words": list(words)}),
        launcher_preview=words,
        workdir=names.CODE_MOUNT,
        env=inputs.variables,
        code_hash=code_hash,
        env_from_caller=tuple(name for name, flag in last_flags.items() if "=" not in flag),
        secrets=tuple(with_absolute_path(env.cwd, source) for source in inputs.secrets),
        resilience=resilience,
        script=work.display_name,
    )


def _launcher(request: TrainRequest, elastic: Elastic | None) -> Launcher:
    if elastic:
        return ElasticHorovodrun(elastic, request.start_timeout_s, request.tuning)
    return Horovodrun(request.start_timeout_s, request.tuning)
