"""Says whether this machine's own engine has workers of a cluster that `up --local` would take for its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hvdocker.cluster.status import status
from hvdocker.env import Env
from hvdocker.inventory.state_folder import generate


def has_local_workers(env: Env, folder: Path) -> bool:
    """Return whether there is a container of the cluster that `up --local` in `folder` makes. Clusters of two folders
    of one name have the same name; one of them may have real hosts, and this machine among them. An engine that does
    not answer has none; `up` says why it does not."""
    located = generate(replace(env, cwd=(env.cwd / folder).resolve()), local=2, image="base")
    return any(host.seen and host.seen.containers for host in status(env, located).hosts)
