"""Carries out the steps of `steps.py`: stops jobs, and fetches their files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from hvdocker.errors import ExitCode, HvdockerError, raise_all
from hvdocker.jobs.steps import FetchJobs, StopJob
from hvdocker.plan.apply import Context
from hvdocker.protocol.job_file import STOP_S


def _stop_job(step: StopJob, context: Context) -> None:
    """Stop the job's master gracefully, so that ranks can finish writing the outputs that are fetched next. Do nothing
    if the master is gone."""
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).stop(step.id, timeout=STOP_S)


def _fetch_jobs(step: FetchJobs, context: Context) -> None:
    """Fetch the files of all jobs of the step. If a job cannot be fetched, go on with the others and raise its error at
    the end. Only Ctrl-C and an error about a lock (Locked) end the work at once."""
    errors: list[HvdockerError] = []
    for job in step.jobs:
        try:
            context.fetch(job)
        except HvdockerError as error:
            if error.exit_code in (ExitCode.LOCKED, ExitCode.INTERRUPTED):
                raise
            error.what = f"{job}: {error.what}"
            errors.append(error)
    raise_all("some jobs could not be brought home", errors)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {StopJob: _stop_job, FetchJobs: _fetch_jobs}
