"""Hosts that take part in a job while it runs: those that lost their worker and get another, and new ones,
which an elastic job takes in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from hvdocker import names
from hvdocker.cluster.steps import JoinJob, TellMaster
from hvdocker.cluster.unreachable import UnreachableHost
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.images.plan import ImagePlan, runs
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.protocol.job import JobHost
from hvdocker.protocol.placement import Share

_LACKS = "it runs with requirements, which a new worker lacks"


@dataclass(frozen=True)
class Join:
    job: str
    share: Share

    def on(self, spec: ContainerSpec) -> ContainerSpec:
        """The worker says so from the beginning: its slots are the job's for as long as that runs."""
        told = {names.LABEL_JOINED: self.job, names.LABEL_SHARE: str(self.share.slots)}
        return replace(spec, labels={**spec.labels, **told})


@dataclass(frozen=True)
class Newcomers:
    """Who joins, and why others do not."""

    joins: Mapping[str, Join]
    notes: tuple[str, ...] = ()


def newcomers(
    state: ClusterState, placed: Mapping[str, HostPlan], fresh: Collection[str], image: ImagePlan
) -> Newcomers:
    """`fresh` are the hosts that get a new worker, of `image`. Those that no running job has join the oldest
    elastic one that has room for them."""
    jobs = [job for job in reversed(state.running_jobs()) if job.elastic]
    busy = {host for job in state.running_jobs() for host in job.placement.hosts}
    room = {job.job: _room(state, job, placed, fresh) for job in jobs}
    joins: dict[str, Join] = {}
    notes = [
        f"{name} does not come back to {job.job}: {_LACKS}"
        for job in state.running_jobs()
        for name in job.placement.hosts
        if name in placed and name in _lost(state, job, fresh)
    ]
    for place in (placed[name] for name in placed if name in fresh and name not in busy):
        why_not = {job.job: _why_not(state, job, place, placed, image, room[job.job]) for job in jobs}
        job = next((name for name, why in why_not.items() if not why), None)
        if job is None:
            notes += [f"{place.name} does not join {name}: {why}" for name, why in why_not.items()]
            continue
        joins[place.name] = Join(job, _share(place, room[job]))
        room[job] = _less(room[job], joins[place.name].share.slots)
    return Newcomers(joins, tuple(notes))


def _room(
    state: ClusterState, job: ContainerSeen, placed: Mapping[str, HostPlan], fresh: Collection[str]
) -> int | None:
    """How many ranks it may still get; None where there is no bound. A host that left the inventory counts
    no more, nor does one that does not answer: others may stand in for it, and the launcher keeps the bound
    when it is back. One that joined and lost its worker since joins anew."""
    most = job.elastic.max_np if job.elastic else 0
    has = sum(share.slots for share in _shares(state, job, placed, fresh, {}))
    return None if most is None else max(0, most - has)


def _less(room: int | None, slots: int) -> int | None:
    return None if room is None else room - slots


def _share(place: HostPlan, room: int | None) -> Share:
    slots = place.slots if room is None else min(place.slots, room)
    return Share(place.name, slots, place.devices[:slots])


def _why_not(
    state: ClusterState,
    job: ContainerSeen,
    place: HostPlan,
    placed: Mapping[str, HostPlan],
    image: ImagePlan,
    room: int | None,
) -> str | None:
    """Completes the sentence `… does not join …: `."""
    head = state.host_of(job)
    has_gpus = any(share.devices for share in job.placement.shares)
    if room == 0:
        return "it has as many ranks as it may have"
    if job.requirements:
        return _LACKS
    if head not in placed or not runs(job, placed[head], image):
        return "it runs another image than new workers do"
    if has_gpus and not place.devices:
        return "it runs on GPUs, and the host has none to give"
    if place.devices and not has_gpus:
        return "it runs on processors, and the host has GPUs"
    return None


def joining(
    state: ClusterState, placed: Mapping[str, HostPlan], fresh: Collection[str], joins: Mapping[str, Join]
) -> Iterator[JoinJob]:
    """New hosts, and those of running jobs whose worker was lost: what lay in it has to be brought again, and
    perhaps what lay on the host too."""
    for job in state.running_jobs():
        head = state.host_of(job)
        for share in _shares(state, job, placed, fresh, joins):
            if share.host in fresh and share.host != head and head in placed:
                yield _join(job, placed[head], placed[share.host], share)


def telling(
    state: ClusterState,
    placed: Mapping[str, HostPlan],
    fresh: Collection[str],
    joins: Mapping[str, Join],
    absent: Mapping[str, UnreachableHost],
) -> Iterator[TellMaster]:
    """Every job that runs: whom its master may log in to is known to it from files of its own. A host that
    does not answer stays one of its hosts: the job itself finds out when it is back."""
    for job in state.running_jobs():
        head = state.host_of(job)
        if head not in placed:
            continue
        shares = _shares(state, job, placed, fresh, joins) if job.elastic else []
        seats = [JobHost(share.host, placed[share.host].address, share.slots) for share in shares]
        seats += [one.seat_in(job.job) for one in absent.values() if job.job in one.slots]
        yield TellMaster(head, job.name, placed[head].uid, placed[head].gid, tuple(seats))


def _shares(
    state: ClusterState,
    job: ContainerSeen,
    placed: Mapping[str, HostPlan],
    fresh: Collection[str],
    joins: Mapping[str, Join],
) -> list[Share]:
    """What the job has once the plan is carried out, the head first."""
    lost = _lost(state, job, fresh)
    stay = [share for share in state.placement_of(job).shares if share.host not in lost]
    come = [join.share for join in joins.values() if join.job == job.job]
    return [share for share in (*stay, *come) if share.host in placed]


def _lost(state: ClusterState, job: ContainerSeen, fresh: Collection[str]) -> set[str]:
    """Hosts of the job whose new worker is no part of it: who joined joins anew, and requirements are no part
    of a new worker."""
    back = () if job.requirements else job.placement.hosts
    return {name for name in fresh if name not in back and name != state.host_of(job)}


def _join(job: ContainerSeen, head: HostPlan, place: HostPlan, share: Share) -> JoinJob:
    return JoinJob(
        place.name,
        job=job.job,
        head=head.name,
        source=head.folder,
        folder=place.folder,
        seat=JobHost(place.name, place.address, share.slots),
        master=job.name,
        worker=place.worker_name,
        uid=place.uid,
        gid=place.gid,
        devices=share.devices,
        secrets=job.secrets,
        is_shared=place.needs_open_folders,
        is_new=place.name not in job.placement.hosts,
    )
