"""Who holds which GPU, read from the labels of living containers and from nothing else. Pure.

A worker's label `hvdocker.gpus` holds GPUs for its cluster, a master's `hvdocker.placement` for its job, on
every host of the job. Labels of all clusters on the host's engine count. GPUs are matched by UUID."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ContainerSeen, HostSeen


@dataclass(frozen=True)
class Lease:
    """A holder of a GPU. `job` is empty if the cluster holds the GPU and none of its jobs uses it.
    `container` is the id of the worker or master with the label."""

    cluster: str
    owner: str
    job: str
    container: str

    def __str__(self) -> str:
        """Return the text that completes the sentence `held by …`."""
        whose = f" of {self.owner}" if self.owner else ""
        return f"{self.job or f'the cluster {self.cluster}'}{whose}"


@dataclass(frozen=True)
class GpuUse:
    """A GPU with its leases (more than one only if clusters overlap) and its foreign processes.

    A process is foreign if it runs in no container of a holder. Foreign processes that use too little memory
    are left out."""

    gpu: GpuSeen
    leases: tuple[Lease, ...] = ()
    foreign_processes: tuple[GpuProcess, ...] = ()

    @property
    def lease(self) -> Lease | None:
        """The lease to show: that of a job, else the first; None if nothing holds the GPU."""
        return next((lease for lease in self.leases if lease.job), next(iter(self.leases), None))

    @property
    def is_free(self) -> bool:
        return not self.leases and not self.foreign_processes

    def is_free_in(self, cluster: str) -> bool:
        """Whether a job of this cluster can use it: only the cluster holds it, and no job or foreign process
        uses it."""
        is_own = bool(self.leases) and all(one.cluster == cluster and not one.job for one in self.leases)
        return is_own and not self.foreign_processes


def gpu_uses(
    seen: HostSeen, busy_bytes: int, jobs: Mapping[str, tuple[Lease, ...]] | None = None
) -> tuple[GpuUse, ...]:
    """Return the use of every GPU of a host.

    `jobs` are the leases of jobs on all hosts (`job_leases`): the master, which has the label, runs on only
    one of the job's hosts. Without `jobs`, only the masters on this host count. `busy_bytes` is the memory
    from which foreign processes count."""
    known = (*seen.containers, *seen.other_containers)
    workers = _worker_leases(known)
    jobs = job_leases((seen,)) if jobs is None else jobs
    return tuple(_gpu_use(gpu, workers, jobs, known, busy_bytes, _slices_of_card(gpu, seen.gpus)) for gpu in seen.gpus)


def _slices_of_card(gpu: GpuSeen, gpus: Iterable[GpuSeen]) -> list[str]:
    """Return the UUIDs of all slices of the same card, including this one."""
    return [one.uuid for one in gpus if one is gpu or (gpu.parent and one.parent == gpu.parent)]


def _leases_of(
    uuid: str, workers: Mapping[str, tuple[Lease, ...]], jobs: Mapping[str, tuple[Lease, ...]]
) -> tuple[Lease, ...]:
    # A job's lease replaces that of its cluster: it says more.
    by_job = jobs.get(uuid, ())
    clusters = {lease.cluster for lease in by_job}
    return (*by_job, *(lease for lease in workers.get(uuid, ()) if lease.cluster not in clusters))


def job_leases(hosts: Iterable[HostSeen]) -> dict[str, tuple[Lease, ...]]:
    """Return the jobs that hold each device (UUID), of all clusters."""
    # By id, because hosts that share an engine (a local cluster) report the same containers.
    living = {one.id: one for host in hosts for one in (*host.containers, *host.other_containers) if one.is_living}
    found: dict[str, tuple[Lease, ...]] = {}
    for master in living.values():
        if master.role != names.ROLE_MASTER:
            continue
        lease = Lease(master.cluster, master.owner, master.job, master.id)
        joined = [one.joined_share for one in living.values() if one.has_joined(master)]
        devices = (device for share in (*master.placement.shares, *joined) for device in share.devices)
        for device in dict.fromkeys(devices):
            found[device] = (*found.get(device, ()), lease)
    return found


def _worker_leases(containers: Iterable[ContainerSeen]) -> dict[str, tuple[Lease, ...]]:
    found: dict[str, tuple[Lease, ...]] = {}
    for worker in containers:
        if worker.role != names.ROLE_WORKER or not worker.is_living:
            continue
        lease = Lease(worker.cluster, worker.owner, "", worker.id)
        for device in worker.devices:
            found[device] = (*found.get(device, ()), lease)
    return found


def _gpu_use(
    gpu: GpuSeen,
    workers: Mapping[str, tuple[Lease, ...]],
    jobs: Mapping[str, tuple[Lease, ...]],
    known: Iterable[ContainerSeen],
    busy_bytes: int,
    siblings: Iterable[str],
) -> GpuUse:
    """Processes of a cluster are foreign to a GPU that the cluster does not hold."""
    leases = _leases_of(gpu.uuid, workers, jobs)
    # The driver does not report which slice of a card a process uses, so processes of the clusters that hold
    # other slices of the card are not foreign.
    holders = {lease.cluster for uuid in siblings for lease in _leases_of(uuid, workers, jobs)}
    own = {container.id for container in known if container.cluster in holders}
    return GpuUse(gpu, leases, gpu.foreign_processes(own, busy_bytes))
