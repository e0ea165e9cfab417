"""Actions that remove containers, folders and networks that hvdocker created."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable
from typing import Any

from hvdocker.cluster import steps
from hvdocker.plan.apply import Context
from hvdocker.shell import host_folders
from hvdocker.transport.link import run_or_raise

# The pauses before each new attempt to remove a container whose files were in use.
BUSY_PAUSES_S = (0.2, 0.5, 1.0, 2.0)


def _remove_container(step: steps.RemoveContainer, context: Context) -> None:
    from docker.errors import APIError, NotFound

    engine = context.engine(step.host)
    with contextlib.suppress(NotFound):
        for pause_s in BUSY_PAUSES_S:
            try:
                engine.remove_container(step.id, force=True, v=True)
                return
            except APIError as error:
                # A copy out of the container mounts its files, for example for an `attach` that reads how the job
                # ended. A removal at that moment fails, and the container stays in the state `dead`.
                if "failed to remove root filesystem" not in str(error.explanation):
                    raise
            time.sleep(pause_s)
        engine.remove_container(step.id, force=True, v=True)


def _remove_tree(step: steps.RemoveTree, context: Context) -> None:
    """Remove a folder as the SSH user. If that fails, remove it as root.

    There is no time limit, because the folder may be large."""
    link = context.link(step.host)
    if link.run(host_folders.remove_tree(step.path), timeout_s=None).code == 0:
        return
    # The usual reason: containers of another user wrote files there, which only root may remove.
    run_or_raise(
        link,
        host_folders.remove_tree(step.path).as_root(),
        f"removing {step.path} failed",
        fix=f"some files may belong to another user; on the host: sudo rm -rf {shlex.quote(step.path)}",
        timeout_s=None,
    )


def _remove_network(step: steps.RemoveNetwork, context: Context) -> None:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        context.engine(step.host).remove_network(step.name)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    steps.RemoveContainer: _remove_container,
    steps.RemoveTree: _remove_tree,
    steps.RemoveNetwork: _remove_network,
}
