"""Looks on this machine's own engine for containers of a cluster with the name that the demo's cluster would get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hvdocker.cluster.status import status
from hvdocker.env import Env
from hvdocker.inventory.state_folder import generate


def has_local_workers(env: Env, folder: Path) -> bool:
    """Return whether this machine's engine has a container of a cluster with the name that `up --local` in `folder`
    gives to its cluster.

    A cluster gets the name of its folder, so two folders of the same name have clusters of the same name. The other
    cluster may have real hosts, of which this machine is one. If the engine does not answer, return False: the `up`
    that follows says why."""
    located = generate(replace(env, cwd=(env.cwd / folder).resolve()), local=2, image="base")
    return any(host.seen and host.seen.containers for host in status(env, located).hosts)
