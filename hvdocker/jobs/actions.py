"""Carries out the steps of `steps.py`: stops jobs, and fetches their files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from hvdocker.jobs.steps import FetchJobs, StopJob
from hvdocker.plan.apply import Context
from hvdocker.protocol.job import STOP_S


def _stop_job(step: StopJob, context: Context) -> None:
    """Stop the master gracefully, so that ranks can finish writing the outputs that are fetched next."""
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).stop(step.id, timeout=STOP_S)


def _fetch_jobs(step: FetchJobs, context: Context) -> None:
    for job in step.jobs:
        context.fetch(job)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {StopJob: _stop_job, FetchJobs: _fetch_jobs}
