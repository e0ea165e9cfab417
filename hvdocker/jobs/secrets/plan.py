"""Where a job's secrets go, and what earlier jobs may have left of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.secrets.steps import EmptySecrets, ForgetSecrets, PutSecrets
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import Step
from hvdocker.protocol.job import JobSpec

# A supervisor that ended by itself, with one of these codes, has cleared up in its own container.
ORDERLY = (0, 1, 143)


def steps_to_put(inventory: Inventory, placed: Mapping[str, HostPlan], job: JobSpec) -> list[Step]:
    """Into every container with ranks of the job: the head's run in the master, others in workers."""
    master, head = names.master_name(inventory.cluster, job.job), job.placement.head
    return [
        PutSecrets(
            place.name,
            master if place.name == head else place.worker_name,
            place.uid,
            place.gid,
            job.job,
            job.secrets,
            place.name == head,
        )
        for place in (placed[name] for name in job.placement.hosts)
        if job.secrets
    ]


def steps_after_kill(inventory: Inventory, placed: Mapping[str, HostPlan], job: JobSpec) -> list[Step]:
    """What has to go when the master of this job was killed."""
    if not job.secrets:
        return []
    head, *others = job.placement.hosts
    master = names.master_name(inventory.cluster, job.job)
    emptied = EmptySecrets(head, master, job.job, tuple(secret.name for secret in job.secrets))
    return [emptied, *(ForgetSecrets(name, placed[name].worker_name, (job.job,)) for name in others)]


def steps_after_stop(head: str, master: ContainerSeen, workers: Iterable[ContainerSeen]) -> list[Step]:
    """The same, as its labels tell it."""
    if not master.secrets:
        return []
    others = [host for host in master.placement.hosts if host != head]
    emptied = EmptySecrets(head, master.name, master.job, master.secrets)
    given = [one for one in workers if one.host in others or one.has_joined(master)]
    return [emptied, *(ForgetSecrets(one.host, one.name, (master.job,)) for one in given)]


def steps_after_head_loss(state: ClusterState, job: str) -> list[Step]:
    """Of a job that ended with its head, and is not run again. Who joined it only its master could tell:
    every worker that runs may have them. Nothing where the job lives after all."""
    masters = [master for master in state.masters() if master.job == job]
    if any(master.is_living for master in masters):
        return []
    workers = {name: worker for name, worker in state.workers().items() if worker.is_running}
    return [
        *(
            EmptySecrets(state.host_of(master), master.name, job, master.secrets)
            for master in masters
            if master.secrets and master.exit_code not in ORDERLY
        ),
        *(ForgetSecrets(name, worker.name, (job,)) for name, worker in workers.items()),
    ]


Seen = Mapping[str, Iterable[ContainerSeen]]


def steps_for_unstarted_job(master: ContainerSeen, seen: Seen) -> list[Step]:
    """Of a job that never started, on hosts by the names that whoever looks has for them. Its master has
    the rest, and goes. Labels are foreign words: one that is no job's name becomes no path."""
    if not master.secrets or not names.is_plain(master.job):
        return []
    others = _others(master)
    return [
        ForgetSecrets(host, one.name, (master.job,))
        for host, one in _workers(master, seen)
        if one.host in others
    ]


def has_unseen(master: ContainerSeen, seen: Seen) -> bool:
    """Whether secrets of that job may lie in a worker that nobody saw."""
    return bool(master.secrets and _others(master) - {one.host for _, one in _workers(master, seen)})


def _others(master: ContainerSeen) -> set[str]:
    return {host for host in master.placement.hosts if host != master.host}


def _workers(master: ContainerSeen, seen: Seen) -> Iterator[tuple[str, ContainerSeen]]:
    """Those of its cluster, and where they were seen."""
    for host, containers in seen.items():
        for one in containers:
            if one.role == names.ROLE_WORKER and one.cluster == master.cluster:
                yield host, one


def steps_for_ended_jobs(placed: Mapping[str, HostPlan], state: ClusterState) -> list[Step]:
    """Secrets go when their job ends; not where the head died, or a host was away at that moment."""
    ended = [master for master in state.masters() if master.secrets and not master.is_running]
    emptied: list[Step] = [
        EmptySecrets(state.host_of(master), master.name, master.job, master.secrets)
        for master in ended
        if master.exit_code not in ORDERLY
    ]
    jobs: dict[str, list[str]] = {}
    for master in ended:
        for host in state.placement_of(master).hosts:
            if host != master.host and host in placed:
                jobs.setdefault(host, []).append(master.job)
    return [*emptied, *(ForgetSecrets(n, placed[n].worker_name, tuple(some)) for n, some in jobs.items())]
