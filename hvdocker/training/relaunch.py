"""Launches a job again, on the hosts that still respond, after it lost its head.

choose_slots.py places it, with what the hosts still have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from hvdocker.env import Env
from hvdocker.errors import HeadLost, HvdockerError, Interrupted
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.head_loss import clean_up_lost_job
from hvdocker.protocol.job import JobSpec
from hvdocker.protocol.resilience import Resilience
from hvdocker.training.inputs.request import JobInputs

T = TypeVar("T")


@dataclass(frozen=True)
class Relaunch:
    """A job whose head was lost, to be placed on the hosts that are left, with at most `np` ranks.

    It keeps its id, so that outputs and logs that other hosts hold of it are found again. `resilience` has
    the restarts that are left."""

    job: str
    resilience: Resilience
    np: int
    code_hash: str
    # The reason, shown to the user if the job cannot be placed again.
    lost: HeadLost


def launch_again(start: Callable[[], T], relaunch: Relaunch, clean_up: Callable[[str], None]) -> T:
    """Launch a job that lost its head. If that fails, clean up and raise the loss, with the failure in it."""
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
    """Return how the job is launched again. Raises HeadLost if no restart is left."""
    most, number = inputs.resilience.restarts, max(job.resilience.first_restart, lost.restart) + 1
    if number > most:
        clean_up_lost_job(env, located, job.job, has_secrets=bool(job.secrets))
        raise lost
    where = f"{job.job} is started again on the hosts that still respond"
    env.listener(Event("note", f"{lost.what}; {where} (restart {number} of {most})"))
    resilience = replace(job.resilience, restarts=most - number, first_restart=number)
    return Relaunch(job.job, resilience, job.placement.np, job.code_hash, lost)
