"""Decides which hosts join a running job: its own hosts that get a new worker, and new hosts if it is
elastic.

Pure. A host that is new in the inventory joins the oldest elastic job with room for it. Idle workers that
existed before do not join, because labels cannot change. A new worker has a new host key, and a master has
the keys in files of its own: so whenever workers are updated, the masters of running jobs are updated too."""

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
from hvdocker.protocol.job import JobHost
from hvdocker.protocol.placement import Share

_LACKS_REQUIREMENTS = "it runs with requirements, which a new worker lacks"


@dataclass(frozen=True)
class Join:
    """A new host's part in a running job."""

    job: str
    share: Share

    def label_worker(self, spec: ContainerSpec) -> ContainerSpec:
        """Return the specification with labels that give the worker's slots to the job while it runs.

        They have to be there from the start, and do not count in the specification's fingerprint."""
        told = {names.LABEL_JOINED: self.job, names.LABEL_SHARE: str(self.share.slots)}
        return replace(spec, labels={**spec.labels, **told})


@dataclass(frozen=True)
class JoinPlan:
    """The hosts that join, and notes on why others do not."""

    joins: Mapping[str, Join]
    notes: tuple[str, ...] = ()


def plan_joins(
    state: ClusterState, placed: Mapping[str, HostPlan], fresh: Collection[str], image: ImagePlan
) -> JoinPlan:
    """Decide which of the `fresh` hosts, which get a new worker with `image`, join a running job.

    Hosts that no running job uses join the oldest elastic job that has room for them."""
    jobs = [job for job in reversed(state.running_jobs()) if job.elastic]
    busy = {host for job in state.running_jobs() for host in job.placement.hosts}
    room = {job.job: _ranks_left(state, job, placed, fresh) for job in jobs}
    joins: dict[str, Join] = {}
    notes = [
        f"{name} does not come back to {job.job}: {_LACKS_REQUIREMENTS}"
        for job in state.running_jobs()
        for name in job.placement.hosts
        if name in placed and name in _hosts_not_returning(state, job, fresh)
    ]
    for place in (placed[name] for name in placed if name in fresh and name not in busy):
        why_not = {job.job: _why_not_join(state, job, place, placed, image, room[job.job]) for job in jobs}
        job = next((name for name, why in why_not.items() if not why), None)
        if job is None:
            notes += [f"{place.name} does not join {name}: {why}" for name, why in why_not.items()]
            continue
        joins[place.name] = Join(job, _share(place, room[job]))
        room[job] = _reduce(room[job], joins[place.name].share.slots)
    return JoinPlan(joins, tuple(notes))


def _ranks_left(
    state: ClusterState, job: ContainerSeen, placed: Mapping[str, HostPlan], fresh: Collection[str]
) -> int | None:
    """Return how many more ranks the job may have; None if there is no bound.

    Hosts that were removed from the inventory do not count, nor do hosts that do not answer: others may
    replace them, and the launcher itself keeps to --max-np when they are back. A host that joined and then
    lost its worker does not count either: it joins again."""
    most = job.elastic.max_np if job.elastic else 0
    has = sum(share.slots for share in _shares_after(state, job, placed, fresh, {}))
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
    placed: Mapping[str, HostPlan],
    image: ImagePlan,
    room: int | None,
) -> str | None:
    """Return why the host cannot join, as the end of `… does not join …: `; None if it can."""
    head = state.host_of(job)
    has_gpus = any(share.devices for share in job.placement.shares)
    if room == 0:
        return "it has as many ranks as it may have"
    if job.requirements_key:
        return _LACKS_REQUIREMENTS
    if head not in placed or not runs_image(job, placed[head], image):
        return "it runs another image than new workers do"
    if has_gpus and not place.devices:
        return "it runs on GPUs, and the host has none to give"
    if place.devices and not has_gpus:
        return "it runs on processors, and the host has GPUs"
    return None


def steps_to_join(
    state: ClusterState, placed: Mapping[str, HostPlan], fresh: Collection[str], joins: Mapping[str, Join]
) -> Iterator[JoinJob]:
    """Yield the steps for new hosts, and for hosts of running jobs that get a new worker.

    What was in a lost worker has to be copied again, and perhaps what was on its host too."""
    for job in state.running_jobs():
        head = state.host_of(job)
        for share in _shares_after(state, job, placed, fresh, joins):
            if share.host in fresh and share.host != head and head in placed:
                yield _step_to_join(job, placed[head], placed[share.host], share)


def steps_to_update_masters(
    state: ClusterState,
    placed: Mapping[str, HostPlan],
    fresh: Collection[str],
    joins: Mapping[str, Join],
    unreachable: Mapping[str, UnreachableHost],
) -> Iterator[UpdateMaster]:
    """Yield a step for the master of every running job, which has the members' keys in files of its own.

    The hosts of an elastic job come from labels: those of its placement and those that joined. A host that
    does not answer is known from the master's own files. It stays a host of its job: the supervisor finds
    out when it is back."""
    for job in state.running_jobs():
        head = state.host_of(job)
        if head not in placed:
            continue
        shares = _shares_after(state, job, placed, fresh, joins) if job.elastic else []
        job_hosts = [JobHost(share.host, placed[share.host].address, share.slots) for share in shares]
        job_hosts += [one.job_host_in(job.job) for one in unreachable.values() if job.job in one.slots]
        yield UpdateMaster(head, job.name, placed[head].uid, placed[head].gid, tuple(job_hosts))


def _shares_after(
    state: ClusterState,
    job: ContainerSeen,
    placed: Mapping[str, HostPlan],
    fresh: Collection[str],
    joins: Mapping[str, Join],
) -> list[Share]:
    """Return the shares that the job has once the plan is applied, the head first.

    Hosts that were removed from the inventory are left out: an elastic job goes on without them."""
    lost = _hosts_not_returning(state, job, fresh)
    stay = [share for share in state.placement_of(job).shares if share.host not in lost]
    come = [join.share for join in joins.values() if join.job == job.job]
    return [share for share in (*stay, *come) if share.host in placed]


def _hosts_not_returning(state: ClusterState, job: ContainerSeen, fresh: Collection[str]) -> set[str]:
    """Return the `fresh` hosts whose new worker does not belong to the job by its placement.

    These are all but the hosts that the job started with: a host that joined has to join again. If the job
    has requirements, none of its hosts comes back, because a new worker lacks them."""
    back = () if job.requirements_key else job.placement.hosts
    return {name for name in fresh if name not in back and name != state.host_of(job)}


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
