"""Finds which cluster or job holds which GPU, only from the labels of living containers. Pure.

A worker's label `hvdocker.gpus` holds GPUs for its cluster. A master's label `hvdocker.placement` holds GPUs
for its job, on every host of the job. The containers of all clusters on a host count. GPUs are matched by UUID."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ContainerSeen, HostSeen


@dataclass(frozen=True)
class Lease:
    """A job or a cluster that holds a GPU.

    `owner` is the user who created the job or cluster, empty if unknown. `job` is empty if the cluster holds the GPU
    and none of its jobs uses it. `container` is the id of the job's master, or of the worker if `job` is empty."""

    cluster: str
    owner: str
    job: str
    container: str

    def __str__(self) -> str:
        """Return the text that completes the sentence `held by …`, for messages and tables: `mnist-4kq2 of kim`, or
        `the cluster lab of kim` without a job."""
        whose = f" of {self.owner}" if self.owner else ""
        return f"{self.job or f'the cluster {self.cluster}'}{whose}"


@dataclass(frozen=True)
class GpuUse:
    """A GPU, the jobs and clusters that hold it (`leases`), and its foreign processes.

    There is more than one lease only if several clusters hold the same GPU. A process is foreign if it does not run
    in a container of a cluster that holds the GPU (or another slice of the same card). If foreign processes together
    use little memory, only those whose memory is unknown are listed."""

    gpu: GpuSeen
    leases: tuple[Lease, ...] = ()
    foreign_processes: tuple[GpuProcess, ...] = ()

    @property
    def lease(self) -> Lease | None:
        """The lease to show to the user: a job's lease if there is one, else the first. None if there is no lease."""
        return next((lease for lease in self.leases if lease.job), next(iter(self.leases), None))

    @property
    def is_free(self) -> bool:
        return not self.leases and not self.foreign_processes

    def is_free_in(self, cluster: str) -> bool:
        """Whether a job of this cluster can use the GPU.

        It can if only this cluster holds the GPU, and no job and no foreign process uses it."""
        is_own = bool(self.leases) and all(one.cluster == cluster and not one.job for one in self.leases)
        return is_own and not self.foreign_processes


def gpu_uses(
    seen: HostSeen, busy_bytes: int, jobs: Mapping[str, tuple[Lease, ...]] | None = None
) -> tuple[GpuUse, ...]:
    """Return the leases and foreign processes of every GPU of the host `seen`.

    `jobs` are the leases of jobs on all hosts by UUID, from `job_leases`. They are needed because a job's label is on
    its master, which runs on only one of the job's hosts. If `jobs` is None, only the masters on this host count.
    Processes outside of the holding clusters count as foreign if they together use at least `busy_bytes` of memory;
    those whose memory is unknown always count."""
    known = (*seen.containers, *seen.other_containers)
    workers = _worker_leases(known)
    jobs = job_leases((seen,)) if jobs is None else jobs
    return tuple(_gpu_use(gpu, workers, jobs, known, busy_bytes, _slices_of_card(gpu, seen.gpus)) for gpu in seen.gpus)


def _slices_of_card(gpu: GpuSeen, gpus: Iterable[GpuSeen]) -> list[str]:
    """Return the UUIDs of all MIG slices of the card that `gpu` is a slice of, including `gpu` itself. For a GPU that
    is not divided into slices, return only its own UUID. `gpus` are all GPUs of the host."""
    return [one.uuid for one in gpus if one is gpu or (gpu.parent and one.parent == gpu.parent)]


def _leases_of(
    uuid: str, workers: Mapping[str, tuple[Lease, ...]], jobs: Mapping[str, tuple[Lease, ...]]
) -> tuple[Lease, ...]:
    # A job's lease replaces the lease of the job's cluster, because it says more.
    by_job = jobs.get(uuid, ())
    clusters = {lease.cluster for lease in by_job}
    return (*by_job, *(lease for lease in workers.get(uuid, ()) if lease.cluster not in clusters))


def job_leases(hosts: Iterable[HostSeen]) -> dict[str, tuple[Lease, ...]]:
    """Return the leases of all jobs whose master is alive on one of `hosts`, of all clusters, by the UUID of the GPU
    that they hold."""
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
    """Return the leases and foreign processes of one GPU.

    `workers` and `jobs` are leases by UUID. `known` are hvdocker's containers on the host. `siblings` are the UUIDs of
    all slices of the GPU's card, or only its own if it is not divided. A process is foreign if it does not run in a
    container of a cluster that holds one of `siblings`. If the foreign processes together use less than `busy_bytes` of
    memory, only those whose memory is unknown count."""
    leases = _leases_of(gpu.uuid, workers, jobs)
    # The driver does not report which slice of a card a process uses, so processes of the clusters that hold
    # other slices of the card are not foreign.
    holders = {lease.cluster for uuid in siblings for lease in _leases_of(uuid, workers, jobs)}
    own = {container.id for container in known if container.cluster in holders}
    return GpuUse(gpu, leases, gpu.foreign_processes(own, busy_bytes))
