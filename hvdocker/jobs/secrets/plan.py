"""Decide which containers get a job's secrets, and which may still have some of ended jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.secrets.steps import OverwriteSecrets, PutSecrets, RemoveSecrets
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import Step
from hvdocker.protocol.job import JobSpec

# A supervisor that exits with one of these codes ended by itself and removed the secrets in its container.
CLEAN_EXIT_CODES = (0, 1, 143)


def steps_to_put_secrets(inventory: Inventory, placed: Mapping[str, HostPlan], job: JobSpec) -> list[Step]:
    """Return the steps that put secrets into every container with ranks: the master and other workers.

    Ranks of the head run in the master."""
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
    """Return the steps that remove the secrets of a job that this `train` started and whose master was
    killed."""
    if not job.secrets:
        return []
    head, *others = job.placement.hosts
    master = names.master_name(inventory.cluster, job.job)
    emptied = OverwriteSecrets(head, master, job.job, tuple(secret.name for secret in job.secrets))
    return [emptied, *(RemoveSecrets(name, placed[name].worker_name, (job.job,)) for name in others)]


def steps_after_stop(head: str, master: ContainerSeen, workers: Iterable[ContainerSeen]) -> list[Step]:
    """Return the steps that remove the secrets of a stopped job, which its labels describe."""
    if not master.secrets:
        return []
    others = [host for host in master.placement.hosts if host != head]
    emptied = OverwriteSecrets(head, master.name, master.job, master.secrets)
    given = [one for one in workers if one.host in others or one.has_joined(master)]
    return [emptied, *(RemoveSecrets(one.host, one.name, (master.job,)) for one in given)]


def steps_after_head_loss(state: ClusterState, job: str) -> list[Step]:
    """Return the steps that remove the secrets of a job that ended with its head and is not restarted.

    No steps if the job still runs. Only the master knew which hosts joined the job, so every running worker
    may have its secrets."""
    masters = [master for master in state.masters() if master.job == job]
    if any(master.is_living for master in masters):
        return []
    workers = {name: worker for name, worker in state.workers().items() if worker.is_running}
    return [
        *(
            OverwriteSecrets(state.host_of(master), master.name, job, master.secrets)
            for master in masters
            if master.secrets and master.exit_code not in CLEAN_EXIT_CODES
        ),
        *(RemoveSecrets(name, worker.name, (job,)) for name, worker in workers.items()),
    ]


ContainersByHost = Mapping[str, Iterable[ContainerSeen]]


def steps_for_unstarted_job(master: ContainerSeen, seen: ContainersByHost) -> list[Step]:
    """Return the steps that remove the secrets of a job that never started from its workers.

    Its master is removed with the rest. `seen` names hosts as the calling inventory does. Labels are not
    trusted: a job label that is not a plain name yields no steps, because it would become part of a path."""
    if not master.secrets or not names.is_safe_file_name(master.job):
        return []
    others = _others(master)
    return [RemoveSecrets(host, one.name, (master.job,)) for host, one in _workers(master, seen) if one.host in others]


def has_unobserved_worker(master: ContainerSeen, seen: ContainersByHost) -> bool:
    """Return whether a worker that was not observed may have secrets of the master's job."""
    return bool(master.secrets and _others(master) - {one.host for _, one in _workers(master, seen)})


def _others(master: ContainerSeen) -> set[str]:
    return {host for host in master.placement.hosts if host != master.host}


def _workers(master: ContainerSeen, seen: ContainersByHost) -> Iterator[tuple[str, ContainerSeen]]:
    """Yield the workers of the master's cluster, with the host on which each was observed."""
    for host, containers in seen.items():
        for one in containers:
            if one.role == names.ROLE_WORKER and one.cluster == master.cluster:
                yield host, one


def steps_for_ended_jobs(placed: Mapping[str, HostPlan], state: ClusterState) -> list[Step]:
    """Return the steps with which the next `train` removes what ended jobs may have left.

    Secrets stay if the head died, or a host was unreachable, when the job ended."""
    ended = [master for master in state.masters() if master.secrets and not master.is_running]
    emptied: list[Step] = [
        OverwriteSecrets(state.host_of(master), master.name, master.job, master.secrets)
        for master in ended
        if master.exit_code not in CLEAN_EXIT_CODES
    ]
    jobs: dict[str, list[str]] = {}
    for master in ended:
        for host in state.placement_of(master).hosts:
            if host != master.host and host in placed:
                jobs.setdefault(host, []).append(master.job)
    return [*emptied, *(RemoveSecrets(n, placed[n].worker_name, tuple(some)) for n, some in jobs.items())]
