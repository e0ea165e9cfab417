"""The verb `jobs`: list the jobs of all clusters on the inventory's hosts, the jobs that have files on the controller
but no container any more, and the queue for slots. Changes nothing on a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.jobs.history import STATE_OF_EXIT_CODE, script_stem
from hvdocker.jobs.local_jobs import LocalJob, local_jobs
from hvdocker.locks.ticket import Ticket, queue_positions
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic
from hvdocker.transport.session import connected
from hvdocker.units import pluralize

if TYPE_CHECKING:
    from hvdocker.observe.masters import MasterSeen

MAX_ENDED_JOBS = 20


@dataclass(frozen=True)
class ListedJob:
    """A job in the list. `state` is a word such as `running` or `succeeded`. `host` is the host of its master
    container, empty if the container is gone or its host is unreachable. `created` is a Unix time; `seconds` is how
    long the job runs or ran. `script` names what it runs. `elastic` has the limits for the number of ranks, None for a
    job that is not elastic. `launcher` is the name of its launcher. `ranks` is its number of ranks; None means as
    many as there are slots. `local_folder` is the folder with the job's files on the controller, or empty."""

    job: str
    cluster: str
    owner: str
    state: str
    placement: Placement
    host: str
    created: float | None
    seconds: float | None = None
    script: str = ""
    exit_code: int | None = None
    elastic: Elastic | None = None
    restarts: int = 0
    local_folder: str = ""
    launcher: str = ""
    ranks: int | None = None

    @property
    def np(self) -> int:
        """The number of ranks, 0 if it is unknown."""
        return self.ranks or self.placement.np

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    def as_json(self) -> Mapping[str, object]:
        return {
            "job": self.job,
            "cluster": self.cluster or None,
            "owner": self.owner or None,
            "script": self.script,
            "state": self.state,
            "exit_code": self.exit_code,
            "launcher": self.launcher or None,
            "np": self.np or None,
            "min_np": self.elastic.min_np if self.elastic else None,
            "max_np": self.elastic.max_np if self.elastic else None,
            "placement": {share.host: share.slots for share in self.placement.shares},
            "host": self.host or None,
            "created": self.created,
            "seconds": self.seconds,
            "restarts": self.restarts,
            "home": self.local_folder or None,
        }


@dataclass(frozen=True)
class QueueEntry:
    """One waiting command in the queue of a cluster. `position` counts from 1. `ticket` is the file that shows
    that the command is alive; `host` is the host on which the ticket was found."""

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
    """The result of the verb `jobs`. `queue` has the commands that wait for slots. `left_out` is the number of ended
    jobs that are not shown. `errors` has, by host, the errors of hosts that could not be observed."""

    inventory: Inventory
    jobs: tuple[ListedJob, ...]
    queue: tuple[QueueEntry, ...]
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

    @property
    def has_seen_hosts(self) -> bool:
        """Whether at least one host could be observed. If none could, an empty list of jobs does not mean that there
        are none."""
        return len(self.errors) < len(self.inventory.hosts)

    @property
    def seen_text(self) -> str:
        """A phrase that messages append, to say on how many hosts jobs were looked for, such as ` on 3 of 4 hosts`. It
        is empty if all hosts were observed."""
        hosts = len(self.inventory.hosts)
        return f" on {hosts - len(self.errors)} of {pluralize(hosts, 'host')}" if self.errors else ""

    def state(self, name: str) -> str:
        if name not in self.errors:
            return "seen"
        return "unreachable" if self.errors[name].exit_code == 4 else "unfit"

    def _error(self, name: str) -> str | None:
        return str(self.errors[name]) if name in self.errors else None


def jobs(env: Env, located: Located, shows_all: bool = False) -> JobsReport:
    """Return the running jobs, the newest MAX_ENDED_JOBS ended ones (all with `shows_all`), and the queue for slots.
    Hosts that cannot be observed are named in the report and do not raise."""
    inventory = located.inventory
    with connected(env, located, must_all=False) as session:
        from hvdocker.locks.held_ticket import query_tickets
        from hvdocker.observe.hosts import cluster_state, observe_hosts
        from hvdocker.observe.masters import see_masters

        # This also finds out how to reach the engine of each host, which see_masters needs.
        seen = observe_hosts(inventory, session.links, without_gpus=session.links)
        links = {name: session.links[name] for name in seen.done}
        masters = see_masters(links, None if shows_all else MAX_ENDED_JOBS)
        # On all hosts: clusters of other inventories may have their queue on another host.
        queued = query_tickets(session.links)
    errors = {**queued.failed, **masters.failed, **seen.failed, **session.failed}
    state = cluster_state(inventory, seen.done, with_images=False)
    found = merge_local_jobs(_jobs_on_hosts(masters.done, state, env.now()), local_jobs(located).values())
    shown = found if shows_all else _newest(found)
    places = [QueueEntry(*place) for place in queue_positions(_without_duplicates(queued.done))]
    return JobsReport(inventory, tuple(shown), tuple(places), len(found) - len(shown), errors)


def merge_local_jobs(live: Iterable[ListedJob], homes: Iterable[LocalJob]) -> list[ListedJob]:
    """Return every job once: running jobs first, then ended jobs, each group with the newest first.

    `live` are the jobs observed on hosts, `homes` the jobs with files on the controller. For a job that is in
    both, observed values take precedence, and the files fill the gaps."""
    found: dict[tuple[str, str], ListedJob] = {}
    for seen in sorted(live, key=lambda job: (not job.is_running, -(job.created or 0.0))):
        # A job restarted after the loss of its head has two containers once the first head is back.
        found.setdefault((seen.cluster, seen.job), seen)
    for home in homes:
        at_home = _from_local_job(home)
        same = [key for key in found if key[1] == at_home.job and at_home.cluster in ("", key[0])]
        for key in same:
            found[key] = _completed(found[key], at_home)
        if not same:
            found[(at_home.cluster, at_home.job)] = at_home
    named = (replace(job, script=job.script or script_stem(job.job)) for job in found.values())
    return sorted(named, key=lambda job: (not job.is_running, -(job.created or 0.0), job.job))


def _completed(live: ListedJob, home: ListedJob) -> ListedJob:
    """Return the observed job `live` with its gaps filled from `home`, the same job read from files on the controller.

    The state of an ended job is taken from `home` if the container does not show it. For example, the exit code of a
    killed container does not say how the job ended, but a record on the controller does."""
    is_open = live.is_running or live.state == "paused"
    knows_more = (
        not is_open and live.state not in STATE_OF_EXIT_CODE.values() and home.state in STATE_OF_EXIT_CODE.values()
    )
    return replace(
        live,
        owner=live.owner or home.owner,
        script=live.script or home.script,
        state=home.state if knows_more else live.state,
        exit_code=live.exit_code if live.exit_code is not None or is_open else home.exit_code,
        placement=live.placement if live.placement.shares else home.placement,
        elastic=live.elastic or home.elastic,
        seconds=live.seconds if live.seconds is not None else home.seconds,
        restarts=max(live.restarts, home.restarts),
        local_folder=home.local_folder,
        launcher=live.launcher or home.launcher,
        ranks=live.ranks or home.ranks,
    )


def _from_local_job(home: LocalJob) -> ListedJob:
    past = home.past
    return ListedJob(
        job=past.job,
        cluster=past.cluster,
        owner=past.owner,
        state=past.state,
        placement=past.placement,
        host="",
        created=past.started,
        seconds=past.seconds,
        script=past.script,
        exit_code=past.exit_code,
        elastic=past.elastic,
        restarts=past.restarts,
        local_folder=str(home.folder),
        launcher=past.launcher,
        ranks=past.np,
    )


def _jobs_on_hosts(masters: Mapping[str, tuple[MasterSeen, ...]], state: ClusterState, now: float) -> list[ListedJob]:
    """Return the jobs of all master containers (`masters`, by host). A container that two hosts report, because both
    are the same machine, counts once. `now` is the Unix time up to which the run time of a running job is counted.

    `state` is the state of the inventory's own cluster. It tells which hosts joined a job after its start. For jobs
    of other clusters this is unknown."""
    by_id: dict[str, ListedJob] = {}
    for name, there in masters.items():
        for seen in there:
            if seen.container.id not in by_id or name == seen.container.host:
                by_id[seen.container.id] = _listed_job(name, seen, state.placement_of(seen.container), now)
    return list(by_id.values())


def _listed_job(name: str, seen: MasterSeen, placement: Placement, now: float) -> ListedJob:
    container = seen.container
    end = now if container.is_running else seen.finished
    return ListedJob(
        job=container.job,
        cluster=container.cluster,
        owner=container.owner,
        state=_state(container),
        placement=placement,
        host=name,
        created=container.created,
        seconds=max(0.0, end - seen.started) if end is not None and seen.started is not None else None,
        script=container.labels.get(names.LABEL_SCRIPT, ""),
        exit_code=None if container.is_living else container.exit_code,
        elastic=Elastic.read(container.labels.get(names.LABEL_ELASTIC, "")),
        launcher=container.launcher,
        ranks=container.ranks,
    )


def _state(container: ContainerSeen) -> str:
    if container.state != "exited":
        return container.state
    return "ended" if container.exit_code is None else STATE_OF_EXIT_CODE.get(container.exit_code, "ended")


def _newest(found: list[ListedJob]) -> list[ListedJob]:
    running = [job for job in found if job.is_running]
    return [*running, *[job for job in found if not job.is_running][:MAX_ENDED_JOBS]]


def _without_duplicates(tickets: Mapping[str, tuple[Ticket, ...]]) -> dict[str, list[Ticket]]:
    """Return the tickets by host, but each ticket only once: if two hosts of the inventory are the same machine, both
    report the same tickets."""
    told: set[str] = set()
    found: dict[str, list[Ticket]] = {}
    for name, there in tickets.items():
        found[name] = [ticket for ticket in there if ticket.token not in told]
        told |= {ticket.token for ticket in there}
    return found
