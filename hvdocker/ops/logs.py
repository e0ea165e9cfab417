"""Logs and stop: a job's output again, and its end, from any laptop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hvdocker.model.placement import Placement
from hvdocker.model.seen import ContainerSeen
from hvdocker.ops import watch
from hvdocker.ops.env import Env
from hvdocker.ops.locate import Located
from hvdocker.ops.session import connected
from hvdocker.plan.owner import refuse_foreign_job
from hvdocker.plan.secrets import ORDERLY, aftermath
from hvdocker.plan.steps import plan_of

if TYPE_CHECKING:
    from hvdocker.hosts.link import HostLink


@dataclass(frozen=True)
class JobAt:
    """A job, the host that has its master, the links to all hosts, and the workers of its cluster."""

    master: ContainerSeen
    placement: Placement
    head: str
    links: Mapping[str, HostLink]
    workers: tuple[ContainerSeen, ...]

    @property
    def link(self) -> HostLink:
        return self.links[self.head]


def logs(
    env: Env, located: Located, wanted: str | None, follow: bool, tail: int | None, on_line: watch.OnLine
) -> str:
    """Hands every line to `on_line`; returns the job's id."""
    with _job(env, located, wanted) as found:
        if follow and tail is None:
            watch.follow(found.link, found.master.name, found.placement, on_line)
            return found.master.job
        for line in watch.lines(found.link, found.master.name, found.placement, follow, tail):
            on_line(line)
        # A stream that was cut off looks like one that ended: this raises where the host is gone.
        if watch.is_running(found.link, found.master.name) and follow:
            watch.follow(found.link, found.master.name, found.placement, on_line, tail=0)
        return found.master.job


def stop(env: Env, located: Located, wanted: str | None, is_forced: bool = False) -> tuple[str, bool]:
    """The job's id, and whether it ran until now."""
    with _job(env, located, wanted) as found:
        if not found.master.is_running:
            return found.master.job, False
        refuse_foreign_job(found.master, found.workers, env.maker().owner, is_forced)
        watch.stop_job(found.link, found.master.name)
        _clear_up(env, located, found)
        return found.master.job, True


def _clear_up(env: Env, located: Located, found: JobAt) -> None:
    """A supervisor that had to be killed could not remove the job's secrets."""
    if not found.master.secrets or watch.end_of(found.link, found.master.name).exit_code in ORDERLY:
        return
    from hvdocker.hosts.apply import Context, apply_all

    steps = aftermath(found.head, found.master, found.workers)
    plan = plan_of("stop", located.inventory.cluster, ("secrets", steps))
    apply_all(plan, Context(located.inventory, found.links, env.listener))


@contextmanager
def _job(env: Env, located: Located, wanted: str | None) -> Iterator[JobAt]:
    with connected(env, located, must_all=False) as session:
        from hvdocker.errors import raise_together
        from hvdocker.hosts.observe import as_state, observe
        from hvdocker.plan.extent import is_complete

        outcomes = observe(located.inventory, session.links, without_gpus=session.links)
        state = as_state(located.inventory, outcomes.done, with_images=False)
        failed = [*session.failed.values(), *outcomes.failed.values()]
        if failed and is_complete(located.inventory, state):
            failed = []
        if wanted is None or not any(master.job.startswith(wanted) for master in state.masters()):
            # The job that is meant may be on a host that is away: better no job than another one.
            raise_together("some hosts cannot be reached", failed)
        master = watch.find_job(state, wanted)
        workers = tuple(state.workers().values())
        yield JobAt(master, watch.placement_of(master), state.host_of(master), session.links, workers)
