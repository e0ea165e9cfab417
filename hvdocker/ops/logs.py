"""Logs and stop: a job's output again, and its end, from any laptop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hvdocker.model.placement import Placement
from hvdocker.model.seen import ContainerSeen
from hvdocker.ops import watch
from hvdocker.ops.env import Env
from hvdocker.ops.locate import Located
from hvdocker.ops.session import connected

if TYPE_CHECKING:
    from hvdocker.hosts.link import HostLink


@dataclass(frozen=True)
class JobAt:
    """A job, and the link to the host that has its master."""

    master: ContainerSeen
    placement: Placement
    link: HostLink


def logs(
    env: Env, located: Located, wanted: str | None, follow: bool, tail: int | None, on_line: watch.OnLine
) -> str:
    """Hands every line to `on_line`; returns the job's id."""
    with _job(env, located, wanted) as found:
        for line in watch.lines(found.link, found.master.name, found.placement, follow, tail):
            on_line(line)
        return found.master.job


def stop(env: Env, located: Located, wanted: str | None) -> tuple[str, bool]:
    """The job's id, and whether it ran until now."""
    with _job(env, located, wanted) as found:
        if not found.master.is_running:
            return found.master.job, False
        watch.stop_job(found.link, found.master.name)
        return found.master.job, True


@contextmanager
def _job(env: Env, located: Located, wanted: str | None) -> Iterator[JobAt]:
    with connected(env, located, must_all=False) as session:
        from hvdocker.errors import raise_together
        from hvdocker.hosts.observe import as_state, observe

        outcomes = observe(located.inventory, session.links)
        state = as_state(located.inventory, outcomes.done, with_images=False)
        if not state.masters():
            raise_together(
                "some hosts cannot be reached", [*session.failed.values(), *outcomes.failed.values()]
            )
        master = watch.find_job(state, wanted)
        head = next(name for name, seen in state.hosts.items() if master in seen.containers)
        yield JobAt(master, watch.placement_of(master), session.links[head])
