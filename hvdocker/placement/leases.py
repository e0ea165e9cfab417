"""Who holds a GPU, as the labels of living containers say: a cluster by its workers, a job by its master."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ContainerSeen, HostSeen


@dataclass(frozen=True)
class Lease:
    """`job` is empty where the cluster holds the GPU and none of its jobs uses it. `container` is the id of
    the worker or master whose label says so."""

    cluster: str
    owner: str
    job: str
    container: str

    def __str__(self) -> str:
        """Completes the sentence `held by …`."""
        whose = f" of {self.owner}" if self.owner else ""
        return f"{self.job or f'the cluster {self.cluster}'}{whose}"


@dataclass(frozen=True)
class GpuUse:
    """A GPU, everyone who holds it (more than one only where clusters overlap), and the processes of
    consequence on it that belong to none of them."""

    gpu: GpuSeen
    leases: tuple[Lease, ...] = ()
    foreigners: tuple[GpuProcess, ...] = ()

    @property
    def lease(self) -> Lease | None:
        """The one that matters most: a job's, else the first."""
        return next((lease for lease in self.leases if lease.job), next(iter(self.leases), None))

    @property
    def is_free(self) -> bool:
        return not self.leases and not self.foreigners

    def is_free_in(self, cluster: str) -> bool:
        """For a job of this cluster, which holds it already."""
        is_own = bool(self.leases) and all(one.cluster == cluster and not one.job for one in self.leases)
        return is_own and not self.foreigners


def gpu_uses(
    seen: HostSeen, busy_bytes: int, jobs: Mapping[str, tuple[Lease, ...]] | None = None
) -> tuple[GpuUse, ...]:
    """Every GPU of a host. `jobs` are the devices that jobs hold (`job_leases` of all hosts): a job's master
    is on one host only. Without it, those of the masters that this host itself has."""
    known = (*seen.containers, *seen.other_containers)
    workers = _worker_leases(known)
    jobs = job_leases((seen,)) if jobs is None else jobs
    return tuple(_use(gpu, workers, jobs, known, busy_bytes, _siblings(gpu, seen.gpus)) for gpu in seen.gpus)


def _siblings(gpu: GpuSeen, gpus: Iterable[GpuSeen]) -> list[str]:
    """The slices of the same card, itself included."""
    return [one.uuid for one in gpus if one is gpu or (gpu.parent and one.parent == gpu.parent)]


def _leases_of(
    uuid: str, workers: Mapping[str, tuple[Lease, ...]], jobs: Mapping[str, tuple[Lease, ...]]
) -> tuple[Lease, ...]:
    by_job = jobs.get(uuid, ())
    clusters = {lease.cluster for lease in by_job}
    return (*by_job, *(lease for lease in workers.get(uuid, ()) if lease.cluster not in clusters))


def job_leases(hosts: Iterable[HostSeen]) -> dict[str, tuple[Lease, ...]]:
    """Device → the jobs that hold it, of whatever cluster. Hosts that share an engine tell the same."""
    living = {
        one.id: one for host in hosts for one in (*host.containers, *host.other_containers) if one.is_living
    }
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


def _use(
    gpu: GpuSeen,
    workers: Mapping[str, tuple[Lease, ...]],
    jobs: Mapping[str, tuple[Lease, ...]],
    known: Iterable[ContainerSeen],
    busy_bytes: int,
    siblings: Iterable[str],
) -> GpuUse:
    """A job's lease says more than its cluster's. Processes of a cluster are foreign to a GPU that it does
    not hold."""
    leases = _leases_of(gpu.uuid, workers, jobs)
    # Which slice a process is on is not told: those of the holders of other slices are no strangers.
    holders = {lease.cluster for uuid in siblings for lease in _leases_of(uuid, workers, jobs)}
    own = {container.id for container in known if container.cluster in holders}
    return GpuUse(gpu, leases, gpu.foreign_processes(own, busy_bytes))
