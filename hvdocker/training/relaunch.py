"""Launches a job again after it lost its head, on the hosts that still respond.

choose_slots.py chooses its new slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from hvdocker.env import Env
from hvdocker.errors import HeadLost, HvdockerError, Interrupted
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.head_loss import clean_up_lost_job
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.protocol.resilience import Resilience
from hvdocker.training.inputs.request import JobInputs

T = TypeVar("T")


@dataclass(frozen=True)
class Relaunch:
    """A job that lost its head and is to be launched again on the hosts that are left.

    `job` is its id, which stays the same, so that outputs and logs on other hosts still belong to the job.
    `resilience` has the restarts that are left. `np` is the number of ranks that it had. If the job is not elastic
    and was started without `-np` and `-H`, it gets at most that many ranks now. `code_hash` is the hash of the code
    that it ran; a note tells the user if the code has changed. `lost` is the error that the loss of the head caused."""

    job: str
    resilience: Resilience
    np: int
    code_hash: str
    # The reason, shown to the user if the job cannot be placed again.
    lost: HeadLost


def launch_again(start: Callable[[], T], relaunch: Relaunch, clean_up: Callable[[str], None]) -> T:
    """Call `start` and return its result. `start` launches the job of `relaunch` again, after the job lost its head.

    If `start` fails, call `clean_up` with the job's id and raise HeadLost, with the reason of the failure added.
    Interrupted and HeadLost from `start` are raised unchanged, without `clean_up`. KeyboardInterrupt is raised again
    after `clean_up`."""
    try:
        return start()
    except (Interrupted, HeadLost):
        raise
    except KeyboardInterrupt:
        clean_up(relaunch.job)
        raise
    except HvdockerError as error:
        clean_up(relaunch.job)
        relaunch.lost.lines = (*relaunch.lost.lines, f"it could not be started again: {error}")
        raise relaunch.lost from error


def relaunch_of(env: Env, located: Located, inputs: JobInputs, job: JobSpec, lost: HeadLost) -> Relaunch:
    """Return the Relaunch with which a job that lost its head is launched again. This uses one restart. `lost` is the
    error that the loss of the head caused.

    If no restart is left, fetch the job's files from the hosts that still respond, remove its secrets there, and raise
    `lost`."""
    most, number = inputs.resilience.restarts, max(job.resilience.first_restart, lost.restart) + 1
    if number > most:
        clean_up_lost_job(env, located, job.job, has_secrets=bool(job.secrets))
        raise lost
    where = f"{job.job} is started again on the hosts that still respond"
    env.listener(Event("note", f"{lost.what}; {where} (restart {number} of {most})"))
    resilience = replace(job.resilience, restarts=most - number, first_restart=number)
    return Relaunch(job.job, resilience, job.np or job.placement.np, job.code_hash, lost)
