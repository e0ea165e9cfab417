"""Taking away what is ours, and bringing home what jobs made."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from typing import Any

from hvdocker.commands import files
from hvdocker.hosts.apply import Context
from hvdocker.hosts.link import must
from hvdocker.model.job import STOP_S
from hvdocker.plan import steps


def _stop_job(step: steps.StopJob, context: Context) -> None:
    """Ranks get their grace, so that the outputs brought home are whole."""
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).stop(step.id, timeout=STOP_S)


def _remove_container(step: steps.RemoveContainer, context: Context) -> None:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).remove_container(step.id, force=True, v=True)


def _remove_tree(step: steps.RemoveTree, context: Context) -> None:
    """However large it is: no time limit."""
    link = context.link(step.host)
    if link.run(files.remove_tree(step.path), timeout_s=None).code == 0:
        return
    # Containers of another user wrote there: only root may remove it.
    must(
        link,
        files.remove_tree(step.path).as_root(),
        f"removing {step.path} failed",
        fix=f"its files belong to another user; on the host: sudo rm -rf {shlex.quote(step.path)}",
        timeout_s=None,
    )


def _remove_network(step: steps.RemoveNetwork, context: Context) -> None:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).remove_network(step.name)


def _remove_image(step: steps.RemoveImage, context: Context) -> None:
    """Somebody may use it by now: then it stays."""
    from docker.errors import APIError

    try:
        context.engine(step.host).remove_image(step.reference)
    except APIError as error:
        if error.status_code not in (404, 409):
            raise


def _fetch_jobs(step: steps.FetchJobs, context: Context) -> None:
    for job in step.jobs:
        context.fetch(job)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    steps.StopJob: _stop_job,
    steps.RemoveContainer: _remove_container,
    steps.RemoveTree: _remove_tree,
    steps.RemoveNetwork: _remove_network,
    steps.RemoveImage: _remove_image,
    steps.FetchJobs: _fetch_jobs,
}
