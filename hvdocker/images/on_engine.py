"""Opens the engine that an `image` verb works on: the controller's own, or that of one host (`--on HOST`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import UsageProblem
from hvdocker.inventory.locate import locate
from hvdocker.transport.session import connected

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

HERE = "this machine"


@contextmanager
def engine_for(env: Env, on: str | None, inventory: Path | None) -> Iterator[HostLink]:
    """Yield a link to the controller, or to the host `on`, given by its name or its `host:` in the inventory.

    `inventory` is the inventory file that the user named; None chooses it as other verbs do. Raise UsageProblem if the
    host is not in the inventory."""
    if on is None:
        from hvdocker.transport.local_link import LocalLink

        yield LocalLink(HERE)
        return
    located = locate(env, inventory)
    hosts = [host for host in located.inventory.hosts if on in (host.name, host.host)]
    if not hosts:
        known = ", ".join(host.name for host in located.inventory.hosts)
        raise UsageProblem(f"{on!r} is not in the inventory", fix=f"hosts are {known}")
    only = replace(located, inventory=replace(located.inventory, hosts=(hosts[0],)))
    with connected(env, only) as session:
        from hvdocker.observe.hosts import whole_state

        whole_state(only.inventory, session.links, with_images=False)
        yield session.links[hosts[0].name]
