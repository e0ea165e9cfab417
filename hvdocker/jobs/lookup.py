"""Decide which job the user means, and gather what is known of it: its master container, its files on hosts,
its copy on the controller. Changes nothing on a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.history import JobTexts, read_past_job
from hvdocker.jobs.job_container import newest_masters
from hvdocker.jobs.local_jobs import LocalJob, local_jobs
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.protocol.placement import Placement
from hvdocker.transport.session import Session

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink


@dataclass(frozen=True)
class JobsSeen:
    """What was observed on the hosts, and the links to them. `failed` has, by host, the error of every host that could
    not be observed. `unreachable` has the same errors. It is empty if the observed hosts have all slots that the
    cluster was created with, because then the other hosts have nothing of the cluster."""

    state: ClusterState
    links: Mapping[str, HostLink]
    unreachable: Mapping[str, HvdockerError] = field(default_factory=dict)
    failed: Mapping[str, HvdockerError] = field(default_factory=dict)

    def hosts_with_files(self, job: str) -> list[str]:
        """Return the observed hosts that have files of the job."""
        return [name for name, seen in self.state.hosts.items() if job in seen.job_folders]

    def folder(self, host: str, job: str) -> str:
        """Return the path of the job's folder on the host."""
        return f"{self.state.hosts[host].cluster_dir}/jobs/{job}"


@dataclass(frozen=True)
class FoundJob:
    """A job and what is known of it. `observed` is what was observed on the hosts. `master` is None if the master
    container is gone or its host is unreachable. `local` is None if the controller has no files of the job.
    `recorded_placement` is the placement in files of the job; it is used if `master` is None."""

    job: str
    observed: JobsSeen
    master: ContainerSeen | None = None
    local: LocalJob | None = None
    # From the job's files on the controller or a host; used only if there is no master.
    recorded_placement: Placement = field(default_factory=lambda: Placement(()))

    @property
    def placement(self) -> Placement:
        """The hosts and slots of the job. If its master was found, this includes hosts that joined the job after its
        start. Otherwise it is the placement in files of the job; empty if there are no such files."""
        return self.observed.state.placement_of(self.master) if self.master else self.recorded_placement

    @property
    def launcher(self) -> str:
        """The name of the job's launcher, from the label of its master or from its files on the controller. Empty if
        it is unknown."""
        if self.master:
            return self.master.launcher
        return self.local.past.launcher if self.local else ""

    @property
    def ranks(self) -> int:
        """The number of ranks; 0 means as many as there are slots, or unknown. It comes from the label of the master,
        or from the job's files on the controller if `master` is None."""
        if self.master:
            return self.master.ranks or 0
        return (self.local.past.np if self.local else None) or 0

    @property
    def head(self) -> str:
        """The host whose engine has the master. Use it only if `master` is not None."""
        assert self.master is not None
        return self.observed.state.host_of(self.master)

    @property
    def link(self) -> HostLink:
        return self.observed.links[self.head]


def observe_jobs(located: Located, session: Session) -> JobsSeen:
    """Observe the containers and job folders on all hosts of the inventory. The result also has the errors of hosts
    that could not be observed. GPUs and images are not queried."""
    from hvdocker.observe.hosts import cluster_state, observe_hosts
    from hvdocker.placement.scope import is_complete

    inventory = located.inventory
    outcomes = observe_hosts(inventory, session.links, without_gpus=session.links)
    state = cluster_state(inventory, outcomes.done, with_images=False)
    failed = {**session.failed, **outcomes.failed}
    ordered = {host.name: failed[host.name] for host in inventory.hosts if host.name in failed}
    # A cluster made with `up -np` whose observed workers have all requested slots has nothing on other hosts.
    has_all = bool(ordered) and is_complete(inventory, state)
    return JobsSeen(state, session.links, {} if has_all else ordered, ordered)


def find_job(
    env: Env, located: Located, observed: JobsSeen, wanted: str | None, prefers_running: bool = False
) -> FoundJob:
    """Return the job whose id is or begins with `wanted`; None means the newest job, with `prefers_running` the newest
    running job if there is one.

    Jobs with a master container are searched first, then jobs with files on hosts, then jobs with files on the
    controller only. The first of these groups with a match decides. Raises UsageProblem if no job matches, or if
    several ids in that group begin with `wanted` and none is equal to it.

    While a host is unreachable, the job that the user means may be on that host. So HvdockerError is raised then if
    `wanted` is None or matches no known job."""
    masters = {job: one for job, one in newest_masters(observed.state).items() if names.is_safe_file_name(job)}
    homes = local_jobs(located)
    age = {job: number for number, job in enumerate(homes)}
    folders = [job for host in observed.state.hosts.values() for job in host.job_folders]
    others = sorted(folders, key=lambda job: age.get(job, len(age)))
    tiers = (_ordered(masters, prefers_running), [*filter(names.is_safe_file_name, others)], [*homes])
    if observed.unreachable and not (wanted and any(job.startswith(wanted) for tier in tiers for job in tier)):
        _note_known_jobs(env, [job for tier in tiers for job in tier], wanted)
        raise_all("some hosts cannot be reached", list(observed.unreachable.values()))
    job = _match(wanted, tiers)
    home = homes.get(job)
    if job in masters:
        return FoundJob(job, observed, masters[job], home)
    told = home.past.placement if home else Placement(())
    return FoundJob(job, observed, None, home, told if told.shares else _placement_on_hosts(observed, job))


def known_jobs(state: ClusterState) -> list[str]:
    """Return the ids of the jobs on the hosts: those with a container, newest first, then those with only files."""
    folders = (job for host in state.hosts.values() for job in host.job_folders)
    return [job for job in dict.fromkeys([*newest_masters(state), *folders]) if names.is_safe_file_name(job)]


def _placement_on_hosts(observed: JobsSeen, job: str) -> Placement:
    """Return the placement of the job as its job.json says, from the first host whose file can be parsed and names
    hosts. Return an empty placement if there is no such file."""
    from hvdocker.shell.command import command

    for host in observed.hosts_with_files(job):
        text = observed.links[host].run(command("cat", f"{observed.folder(host, job)}/job.json")).text
        if (told := read_past_job(job, JobTexts(job=text)).placement).shares:
            return told
    return Placement(())


def _ordered(masters: Mapping[str, ContainerSeen], prefers_running: bool) -> list[str]:
    """Return the ids of the jobs in `masters`, in the order given (newest first). With `prefers_running` put running
    jobs before the others."""
    return sorted(masters, key=lambda job: prefers_running and not masters[job].is_living)


def _match(wanted: str | None, tiers: Sequence[list[str]]) -> str:
    exact = wanted and any(wanted in tier for tier in tiers)
    for tier in tiers:
        hits = [job for job in tier if wanted is None or (job == wanted if exact else job.startswith(wanted))]
        if hits:
            return names.match_job(wanted, list(dict.fromkeys(tier)))
    return names.match_job(wanted, list(dict.fromkeys(job for tier in tiers for job in tier)))


def _note_known_jobs(env: Env, jobs: Sequence[str], wanted: str | None) -> None:
    """Send a note that lists the known jobs if `wanted` is None. While hosts are unreachable, it is not known which job
    is the newest, so the user has to name one."""
    known = list(dict.fromkeys(jobs))
    if wanted is None and known:
        shown = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
        env.listener(Event("note", f"which job is the newest cannot be told now; name one of these: {shown}"))
