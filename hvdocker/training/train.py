"""The verb `train`: decides where a job goes (decide.py), starts it (launch.py), and follows it to its end.

A job that loses its head is launched again here while restarts are left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hvdocker.env import Env
from hvdocker.errors import HeadLost
from hvdocker.images.default_image import with_default_image
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.store import store_capsule
from hvdocker.jobs.head_loss import clean_up_lost_job
from hvdocker.training import queue
from hvdocker.training.choose_slots import choose_slots
from hvdocker.training.decide import decide
from hvdocker.training.inputs.request import JobInputs, TrainRequest, prepare_inputs
from hvdocker.training.launch import follower_of, launch
from hvdocker.training.relaunch import Relaunch, launch_again, relaunch_of
from hvdocker.training.report import Started, TrainReport, Viewer
from hvdocker.transport.session import Session, connected


def train(
    env: Env, located: Located, request: TrainRequest, viewer: Viewer, inputs: JobInputs | None = None
) -> TrainReport:
    """Run a job to its end, or only start it if it is detached, and return a report. If the job loses its head, launch
    it again if restarts are left, else raise HeadLost. No error is raised for a job that fails: the report says how it
    ended.

    `inputs` is what the caller has already read for `request` with `prepare_inputs`; None means that it is read
    here."""
    inputs = inputs or prepare_inputs(env, located, request)
    relaunch: Relaunch | None = None
    while True:
        with connected(env, located, request.accept_new_host_keys, must_all=False) as session:
            outcome = _once(env, with_default_image(located, session), session, inputs, viewer, relaunch)
        if isinstance(outcome, TrainReport):
            return outcome
        relaunch = outcome


def _once(
    env: Env, located: Located, session: Session, inputs: JobInputs, viewer: Viewer, relaunch: Relaunch | None
) -> TrainReport | Relaunch:
    """Launch the job once and follow it to its end. Return a report on it. A detached job is not followed, and in a dry
    run nothing is launched.

    If the job lost its head and has restarts left, return a Relaunch instead of a report. The caller passes it as
    `relaunch` to the next call; `relaunch` is None in the first call."""
    request = inputs.request
    if request.is_dry_run:
        return decide(env, located, session, inputs, viewer).report
    start = partial(launch, env, located, session, inputs, viewer)
    if request.is_queued and relaunch is None:
        choose = partial(choose_slots, env, located, inputs)
        wanted = queue.slots_text(request.np, request.hosts)
        decision = queue.wait_in_queue(env, located, session, wanted, choose, start)
    elif relaunch:
        clean_up = partial(clean_up_lost_job, env, located, has_secrets=bool(inputs.secrets))
        decision = launch_again(partial(start, relaunch=relaunch), relaunch, clean_up)
    else:
        decision = start()
    report = decision.report
    follower = follower_of(env, located, session, decision, viewer)
    try:
        store_capsule(env, located, decision.capsule)
        viewer.started(Started(report.job, report.placement, report.np))
    except KeyboardInterrupt:
        raise follower.stop_on_ctrl_c() from None
    if request.is_detached:
        return report
    try:
        end = follower.follow_to_end()
    except HeadLost as lost:
        return relaunch_of(env, located, inputs, decision.job, lost)
    before = decision.job.resilience.first_restart
    return replace(report, end=end, last_lines=follower.last_lines, restarts_before=before)
