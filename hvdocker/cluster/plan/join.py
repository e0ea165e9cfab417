"""Decides which hosts with a new worker join a running job, and plans the updates of masters. Pure.

A host that a running job started with comes back to that job when its worker is replaced, unless the job has
requirements. Any other host with a new worker joins the oldest elastic job that has room for it. Only a new worker can
join, because a label of the worker names the job that it joined, and labels of an existing container cannot change. A
new worker also has a new host key, which every master needs in its files. So whenever a worker is created, the masters
of running jobs are updated too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from hvdocker import names
from hvdocker.cluster.steps import JoinJob, UpdateMaster
from hvdocker.cluster.unreachable_host import UnreachableHost
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.images.plan import ImagePlan, runs_image
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.protocol.job_file import JobHost
from hvdocker.protocol.placement import Share

_LACKS_REQUIREMENTS = "it runs with requirements, which a new worker lacks"


@dataclass(frozen=True)
class Join:
    """The decision that the host of a new worker joins the running job `job`. `share` has the slots that the job gets
    there."""

    job: str
    share: Share

    def label_worker(self, spec: ContainerSpec) -> ContainerSpec:
        """Return the worker's specification with labels that give its slots to the job while the job runs.

        Labels can be set only when a container is created. The added labels do not count in the specification's
        fingerprint, so the worker need not be replaced when the job is over."""
        told = {names.LABEL_JOINED: self.job, names.LABEL_SHARE: str(self.share.slots)}
        return replace(spec, labels={**spec.labels, **told})


@dataclass(frozen=True)
class JoinPlan:
    """The joins by host, and notes for the user on why other hosts do not join or come back."""

    joins: Mapping[str, Join]
    notes: tuple[str, ...] = ()


def plan_joins(
    state: ClusterState, host_plans: Mapping[str, HostPlan], new_workers: Collection[str], image: ImagePlan
) -> JoinPlan:
    """Decide which of the `new_workers` join a running job. `new_workers` are the hosts that get a new worker.

    Such a host joins the oldest elastic job that has room and fits the host. Hosts that a running job started with are
    left out, because they can only come back to that job. `host_plans` has the plans of all hosts. `image` is the image
    of new workers: a job with another image cannot be joined."""
    jobs = [job for job in reversed(state.running_jobs()) if job.elastic]
    busy = {host for job in state.running_jobs() for host in job.placement.hosts}
    room = {job.job: _ranks_left(state, job, host_plans, new_workers) for job in jobs}
    joins: dict[str, Join] = {}
    notes = [
        f"{name} does not come back to {job.job}: {_LACKS_REQUIREMENTS}"
        for job in state.running_jobs()
        for name in job.placement.hosts
        if name in host_plans and name in _hosts_not_returning(state, job, new_workers)
    ]
    for place in (host_plans[name] for name in host_plans if name in new_workers and name not in busy):
        why_not = {job.job: _why_not_join(state, job, place, host_plans, image, room[job.job]) for job in jobs}
        job = next((name for name, why in why_not.items() if not why), None)
        if job is None:
            notes += [f"{place.name} does not join {name}: {why}" for name, why in why_not.items()]
            continue
        joins[place.name] = Join(job, _share(place, room[job]))
        room[job] = _reduce(room[job], joins[place.name].share.slots)
    return JoinPlan(joins, tuple(notes))


def _ranks_left(
    state: ClusterState, job: ContainerSeen, host_plans: Mapping[str, HostPlan], new_workers: Collection[str]
) -> int | None:
    """Return how many more ranks the elastic job may have, None if it has no --max-np.

    `job` is the master of the job. `host_plans` has the plans of all hosts, and `new_workers` are the hosts
    that get a new worker. Ranks on these hosts of the job are not counted:
    - hosts that were removed from the inventory;
    - hosts that do not answer: new hosts may replace them, and the launcher keeps to --max-np when they are back;
    - `new_workers` that do not come back to the job automatically (`_hosts_not_returning`)."""
    most = job.elastic.max_np if job.elastic else 0
    has = sum(share.slots for share in _shares_after(state, job, host_plans, new_workers, {}))
    return None if most is None else max(0, most - has)


def _reduce(room: int | None, slots: int) -> int | None:
    return None if room is None else room - slots


def _share(place: HostPlan, room: int | None) -> Share:
    slots = place.slots if room is None else min(place.slots, room)
    return Share(place.name, slots, place.devices[:slots])


def _why_not_join(
    state: ClusterState,
    job: ContainerSeen,
    place: HostPlan,
    host_plans: Mapping[str, HostPlan],
    image: ImagePlan,
    room: int | None,
) -> str | None:
    """Return why the host of `place` cannot join the job, None if it can.

    The text completes the note `HOST does not join JOB: …`. `job` is the master, and `host_plans` has the plans of all
    hosts. `image` is the image of new workers. `room` is how many more ranks the job may have, None if there is no
    limit."""
    head = state.host_of(job)
    has_gpus = any(share.devices for share in job.placement.shares)
    if room == 0:
        return "it has as many ranks as it may have"
    if job.requirements_key:
        return _LACKS_REQUIREMENTS
    if head not in host_plans or not runs_image(job, host_plans[head], image):
        return "it runs another image than new workers do"
    if has_gpus and not place.devices:
        return "it runs on GPUs, and the host has none to give"
    if place.devices and not has_gpus:
        return "it runs on processors, and the host has GPUs"
    return None


def steps_to_join(
    state: ClusterState, host_plans: Mapping[str, HostPlan], new_workers: Collection[str], joins: Mapping[str, Join]
) -> Iterator[JoinJob]:
    """Yield one step for each host in `new_workers` that joins or comes back to a running job.

    `host_plans` has the plans of all hosts, and `joins` says, by host, which job a host joins. A host that comes back
    to its job needs the step too: its secrets were in the old worker, and its files may be lost. The head (the host of
    the job's master) needs no step. A job whose head is not in `host_plans` gets no steps."""
    for job in state.running_jobs():
        head = state.host_of(job)
        for share in _shares_after(state, job, host_plans, new_workers, joins):
            if share.host in new_workers and share.host != head and head in host_plans:
                yield _step_to_join(job, host_plans[head], host_plans[share.host], share)


def steps_to_update_masters(
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    new_workers: Collection[str],
    joins: Mapping[str, Join],
    unreachable: Mapping[str, UnreachableHost],
) -> Iterator[UpdateMaster]:
    """Yield one step for each running job: write the keys of all workers into the files of its master.

    For an elastic job, the step also writes the hosts that the job has after the plan. `new_workers` are
    the hosts that get a new worker, and `joins` says which of them join a job. `unreachable` hosts do not answer, but
    stay hosts of their job: the supervisor in the master notices when they are back. A job whose head (the master's
    host) is not in `host_plans` gets no step."""
    for job in state.running_jobs():
        head = state.host_of(job)
        if head not in host_plans:
            continue
        shares = _shares_after(state, job, host_plans, new_workers, joins) if job.elastic else []
        job_hosts = [JobHost(share.host, host_plans[share.host].address, share.slots) for share in shares]
        job_hosts += [one.job_host_in(job.job) for one in unreachable.values() if job.job in one.slots]
        yield UpdateMaster(head, job.name, host_plans[head].uid, host_plans[head].gid, tuple(job_hosts))


def _shares_after(
    state: ClusterState,
    job: ContainerSeen,
    host_plans: Mapping[str, HostPlan],
    new_workers: Collection[str],
    joins: Mapping[str, Join],
) -> list[Share]:
    """Return the job's shares (its slots on each host) after the plan, with the head (the master's host) first.

    `new_workers` are the hosts that get a new worker, and `joins` says which of them join a job. Hosts that
    were removed from the inventory, or that do not answer, are left out, because `host_plans` lacks them."""
    lost = _hosts_not_returning(state, job, new_workers)
    stay = [share for share in state.placement_of(job).shares if share.host not in lost]
    come = [join.share for join in joins.values() if join.job == job.job]
    return [share for share in (*stay, *come) if share.host in host_plans]


def _hosts_not_returning(state: ClusterState, job: ContainerSeen, new_workers: Collection[str]) -> set[str]:
    """Return the `new_workers` (hosts that get a new worker) that do not come back to the job automatically.

    Only a host that the job started with comes back. A host that joined later has to join again. If the job has
    requirements, no host but the head comes back, because a new worker lacks the requirements."""
    back = () if job.requirements_key else job.placement.hosts
    return {name for name in new_workers if name not in back and name != state.host_of(job)}


def _step_to_join(job: ContainerSeen, head: HostPlan, place: HostPlan, share: Share) -> JoinJob:
    return JoinJob(
        place.name,
        job=job.job,
        head=head.name,
        head_folder=head.folder,
        folder=place.folder,
        job_host=JobHost(place.name, place.address, share.slots),
        master=job.name,
        worker=place.worker_name,
        uid=place.uid,
        gid=place.gid,
        devices=share.devices,
        secrets=job.secrets,
        is_shared=place.needs_open_folders,
        is_new=place.name not in job.placement.hosts,
    )
