"""Jobs: what runs and ran on the hosts of an inventory, of whatever cluster, and who waits for slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker.errors import HvdockerError
from hvdocker.model import names
from hvdocker.model.inventory import Inventory
from hvdocker.model.placement import Placement
from hvdocker.model.seen import ContainerSeen
from hvdocker.model.ticket import Ticket
from hvdocker.ops.env import Env
from hvdocker.ops.locate import Located
from hvdocker.ops.queue import queues
from hvdocker.ops.session import connected
from hvdocker.ops.watch import placement_of

if TYPE_CHECKING:
    from hvdocker.hosts.masters import MasterSeen

MOST_ENDED = 20
# What a supervisor ends with. One that was killed says nothing of its job.
_ENDS = {0: "succeeded", 1: "failed", 143: "stopped"}


@dataclass(frozen=True)
class JobSeen:
    """`host` is the one whose engine has the job's container; `seconds` is how long it runs or ran."""

    job: str
    cluster: str
    owner: str
    state: str
    placement: Placement
    host: str
    created: int
    seconds: float | None = None

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    def as_json(self) -> Mapping[str, object]:
        return {
            "job": self.job,
            "cluster": self.cluster,
            "owner": self.owner,
            "state": self.state,
            "np": self.placement.np,
            "placement": {share.host: share.slots for share in self.placement.shares},
            "host": self.host,
            "created": self.created,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Waiting:
    """A place in the queue of a cluster, which is kept on `host`."""

    position: int
    host: str
    ticket: Ticket

    def as_json(self) -> Mapping[str, object]:
        ticket = self.ticket
        return {
            "position": self.position,
            "cluster": ticket.cluster,
            "owner": ticket.owner,
            "machine": ticket.machine,
            "user": ticket.user,
            "verb": ticket.verb,
            "wants": ticket.wish,
            "waits_s": ticket.held_s,
            "last_sign_s": ticket.age_s,
            "host": self.host,
        }


@dataclass(frozen=True)
class JobsReport:
    """`left_out` is how many ended jobs are not shown."""

    inventory: Inventory
    jobs: tuple[JobSeen, ...]
    queue: tuple[Waiting, ...]
    left_out: int = 0
    errors: Mapping[str, HvdockerError] = field(default_factory=dict)

    def as_json(self) -> Mapping[str, object]:
        return {
            "jobs": [job.as_json() for job in self.jobs],
            "queue": [waiting.as_json() for waiting in self.queue],
            "left_out": self.left_out,
            "hosts": [
                {"name": host.name, "state": self.state(host.name), "error": self._error(host.name)}
                for host in self.inventory.hosts
            ],
        }

    def state(self, name: str) -> str:
        if name not in self.errors:
            return "seen"
        return "unreachable" if self.errors[name].exit_code == 4 else "unfit"

    def _error(self, name: str) -> str | None:
        return str(self.errors[name]) if name in self.errors else None


def jobs(env: Env, located: Located, shows_all: bool = False) -> JobsReport:
    inventory = located.inventory
    with connected(env, located, must_all=False) as session:
        from hvdocker.hosts import tickets
        from hvdocker.hosts.masters import see_masters
        from hvdocker.hosts.observe import observe

        # It also finds the way to each engine.
        seen = observe(inventory, session.links, without_gpus=session.links)
        links = {name: session.links[name] for name in seen.done}
        masters = see_masters(links, None if shows_all else MOST_ENDED)
        queued = tickets.look(session.links)
    errors = {**queued.failed, **masters.failed, **seen.failed, **session.failed}
    found = _jobs(masters.done, env.now())
    shown = found if shows_all else _newest(found)
    places = [Waiting(*place) for place in queues(_once(queued.done))]
    return JobsReport(inventory, tuple(shown), tuple(places), len(found) - len(shown), errors)


def _jobs(masters: Mapping[str, tuple[MasterSeen, ...]], now: float) -> list[JobSeen]:
    """Every job once, where two names of the inventory are one machine; running ones first, then newest."""
    by_id = {seen.container.id: _job(name, seen, now) for name, there in masters.items() for seen in there}
    return sorted(by_id.values(), key=lambda job: (not job.is_running, -job.created, job.job))


def _job(name: str, seen: MasterSeen, now: float) -> JobSeen:
    container = seen.container
    end = now if container.is_running else seen.finished
    return JobSeen(
        job=container.job,
        cluster=container.labels.get(names.LABEL_CLUSTER, "?"),
        owner=container.labels.get(names.LABEL_OWNER, "?"),
        state=_state(container),
        placement=placement_of(container),
        host=name,
        created=container.created,
        seconds=max(0.0, end - seen.started) if end is not None and seen.started is not None else None,
    )


def _state(container: ContainerSeen) -> str:
    if container.state != "exited":
        return container.state
    return "ended" if container.exit_code is None else _ENDS.get(container.exit_code, "ended")


def _newest(found: list[JobSeen]) -> list[JobSeen]:
    running = [job for job in found if job.is_running]
    return [*running, *[job for job in found if not job.is_running][:MOST_ENDED]]


def _once(tickets: Mapping[str, tuple[Ticket, ...]]) -> dict[str, list[Ticket]]:
    """Every ticket once, as with jobs."""
    told: set[str] = set()
    found: dict[str, list[Ticket]] = {}
    for name, there in tickets.items():
        found[name] = [ticket for ticket in there if ticket.token not in told]
        told |= {ticket.token for ticket in there}
    return found
