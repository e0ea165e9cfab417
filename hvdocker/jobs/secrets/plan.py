"""Decide which containers get the secrets of a job, and which containers may still have secrets of ended jobs.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hvdocker import names
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.secrets.steps import OverwriteSecrets, PutSecrets, RemoveSecrets
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.plan.plan import Step

# A supervisor that exits with one of these codes ended by itself and removed the secrets in its container.
CLEAN_EXIT_CODES = (0, 1, 143)


def steps_to_put_secrets(inventory: Inventory, host_plans: Mapping[str, HostPlan], job: JobSpec) -> list[Step]:
    """Return the steps that put the job's secrets into every container that runs its ranks: the master on the head, and
    the worker on every other host. Empty if the job has no secrets. `host_plans` has the host plans by host."""
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
        for place in (host_plans[name] for name in job.placement.hosts)
        if job.secrets
    ]


def steps_after_kill(inventory: Inventory, host_plans: Mapping[str, HostPlan], job: JobSpec) -> list[Step]:
    """Return the steps that remove the secrets of a job whose master was killed. Empty if the job has no secrets.
    `host_plans` has the host plans by host.

    The `train` that started the job uses this function, because it knows the job's hosts. Other commands use
    `steps_after_stop`."""
    if not job.secrets:
        return []
    head, *others = job.placement.hosts
    master = names.master_name(inventory.cluster, job.job)
    emptied = OverwriteSecrets(head, master, job.job, tuple(secret.name for secret in job.secrets))
    return [emptied, *(RemoveSecrets(name, host_plans[name].worker_name, (job.job,)) for name in others)]


def steps_after_stop(head: str, master: ContainerSeen, workers: Iterable[ContainerSeen]) -> list[Step]:
    """Return the steps that remove the secrets of a job whose master was stopped. Empty if the job has no secrets.

    Commands that did not start the job use this function. Labels of the `master` and of the `workers` say which
    secrets the job has and which hosts had ranks. `head` is the host of the master."""
    if not master.secrets:
        return []
    others = [host for host in master.placement.hosts if host != head]
    emptied = OverwriteSecrets(head, master.name, master.job, master.secrets)
    given = [one for one in workers if one.host in others or one.has_joined(master)]
    return [emptied, *(RemoveSecrets(one.host, one.name, (master.job,)) for one in given)]


def steps_after_head_loss(state: ClusterState, job: str) -> list[Step]:
    """Return the steps that remove the secrets of a job that ended with its head and is not restarted. `state` has the
    hosts that can still be reached. There are no steps if the job still runs on one of them.

    The master, whose labels name the hosts of the job, may be gone with the head. So secrets are removed from every
    running worker."""
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
    """Return the steps that remove secrets from the workers of a job whose `master` was created but never started. The
    caller has checked this, and removes the master itself.

    `seen` has the observed containers by host, with host names of the caller's inventory. Labels are not trusted,
    and the job id in the master's label becomes part of a path. If the id is not a plain file name, no steps are
    returned."""
    if not master.secrets or not names.is_safe_file_name(master.job):
        return []
    others = _others(master)
    return [RemoveSecrets(host, one.name, (master.job,)) for host, one in _workers(master, seen) if one.host in others]


def has_unobserved_worker(master: ContainerSeen, seen: ContainersByHost) -> bool:
    """Return whether secrets of the master's job may be in a worker that was not observed: the job has secrets, and at
    least one of its hosts other than the head has no worker in `seen` (the observed containers by host)."""
    return bool(master.secrets and _others(master) - {one.host for _, one in _workers(master, seen)})


def _others(master: ContainerSeen) -> set[str]:
    return {host for host in master.placement.hosts if host != master.host}


def _workers(master: ContainerSeen, seen: ContainersByHost) -> Iterator[tuple[str, ContainerSeen]]:
    """Yield a pair (host, worker) for each observed worker of the master's cluster."""
    for host, containers in seen.items():
        for one in containers:
            if one.role == names.ROLE_WORKER and one.cluster == master.cluster:
                yield host, one


def steps_for_ended_jobs(host_plans: Mapping[str, HostPlan], state: ClusterState) -> list[Step]:
    """Return the steps with which the next `train` removes secrets that ended jobs may have left. `state` has their
    masters, whose labels name the secrets. `host_plans` has the host plans by host; workers of other hosts are left
    alone.

    Secrets are left in containers if the head died, or if a host was unreachable when the job ended. A job whose
    master is paused, or is being restarted by the engine, has not ended."""
    # After the loss of a head, a job may have a new master beside the old one, under the same name.
    living = {master.job for master in state.masters() if master.is_living}
    ended = [master for master in state.masters() if master.secrets and not master.is_living]
    emptied: list[Step] = [
        OverwriteSecrets(state.host_of(master), master.name, master.job, master.secrets)
        for master in ended
        if master.exit_code not in CLEAN_EXIT_CODES
    ]
    jobs: dict[str, list[str]] = {}
    for master in ended:
        for host in state.placement_of(master).hosts:
            if host != master.host and host in host_plans and master.job not in living:
                jobs.setdefault(host, []).append(master.job)
    return [*emptied, *(RemoveSecrets(n, host_plans[n].worker_name, tuple(some)) for n, some in jobs.items())]
