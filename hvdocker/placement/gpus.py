"""The verb `gpus`: reports every GPU of every host, its load, and the jobs and clusters that hold it.

Changes nothing on a host. The whole report is read from the hosts, so any machine with the inventory gets the
same report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hvdocker.env import Env
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.inventory.locate import Located
from hvdocker.observe.gpu import GpuProcess
from hvdocker.observe.gpu_query import HUNG_ERROR
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.placement.leases import GpuUse, Lease, gpu_uses, job_leases
from hvdocker.transport.session import Session, connected

# With --watch, the GPUs of a host that failed to report them are queried again only after this time: with a
# hung driver every query leaves an nvidia-smi process on the host that not even SIGKILL ends.
RETRY_FAILED_QUERY_S = 60.0


@dataclass(frozen=True)
class CpuSlots:
    """The processor slots of a host without GPUs; `total` is their number.

    `held` maps each running job of this cluster to the number of slots that it holds on the host."""

    total: int
    held: Mapping[str, int]

    @property
    def free(self) -> int:
        return max(0, self.total - sum(self.held.values()))


@dataclass(frozen=True)
class HostGpus:
    """The GPUs of one host, or its processor slots if it has no GPUs.

    `host` is the `host:` of the inventory. `uses` has one entry for each GPU; in a local cluster, whose hosts share
    their GPUs, only the first host has them. `cpu_slots` is None if the host has GPU cards or its GPUs are unknown.
    `notes` are texts for the user: warnings of the driver, and GPU cards that cannot be used. `containers` are
    hvdocker's containers on the host, of all clusters, by id. `error` says why the host's GPUs are unknown, or is
    None."""

    name: str
    host: str
    uses: tuple[GpuUse, ...] = ()
    cpu_slots: CpuSlots | None = None
    notes: tuple[str, ...] = ()
    containers: Mapping[str, ContainerSeen] = field(default_factory=dict)
    error: HvdockerError | None = None

    def container_of(self, process: GpuProcess) -> ContainerSeen | None:
        """Return the container that the process runs in, or None if it is not a container of hvdocker."""
        return self.containers.get(process.container)


@dataclass(frozen=True)
class GpuReport:
    """The result of the verb `gpus`. `hosts` has every host of the inventory, in the inventory's order."""

    inventory: Inventory
    hosts: tuple[HostGpus, ...]

    @property
    def errors(self) -> list[HvdockerError]:
        return [host.error for host in self.hosts if host.error]

    @property
    def uses(self) -> list[GpuUse]:
        return [use for host in self.hosts for use in host.uses]

    def as_json(self) -> Mapping[str, object]:
        cluster = self.inventory.cluster
        return {
            "cluster": cluster,
            "busy_bytes": self.inventory.gpu_busy_bytes,
            "gpus": len(self.uses),
            "free": sum(use.is_free for use in self.uses),
            "free_in_cluster": sum(use.is_free_in(cluster) for use in self.uses),
            "hosts": [_host_json(host, cluster) for host in self.hosts],
        }


def gpus(env: Env, located: Located, accept_new: bool = False) -> GpuReport:
    """Connect to the hosts of the inventory (`located`), observe them once and return the report. A host that cannot
    be reached or used does not raise; it has an `error` in the report. `accept_new` trusts unknown host keys without
    asking."""
    with connected(env, located, accept_new, must_all=False) as session:
        return _GpuObserver(env, located.inventory, session).take_report()


def watch_gpus(env: Env, located: Located, accept_new: bool = False, every_s: float = 2.0) -> Iterator[GpuReport]:
    """Connect to the hosts of the inventory (`located`), and yield a new report every `every_s` seconds, over the same
    links, until the caller stops. `accept_new` trusts unknown host keys without asking."""
    with connected(env, located, accept_new, must_all=False) as session:
        looker = _GpuObserver(env, located.inventory, session)
        while True:
            yield looker.take_report()
            time.sleep(every_s)


@dataclass
class _GpuObserver:
    """Observes the hosts, once or repeatedly, over the links of `session`.

    `last_errors` maps a host to the time and the text of its failed GPU query. Such a host is not queried again for
    RETRY_FAILED_QUERY_S seconds."""

    env: Env
    inventory: Inventory
    session: Session
    last_errors: dict[str, tuple[float, str]] = field(default_factory=dict)

    def take_report(self) -> GpuReport:
        from hvdocker.observe.hosts import cluster_state, observe_hosts

        now = self.env.now()
        still = {name for name, (since, _) in self.last_errors.items() if now - since < RETRY_FAILED_QUERY_S}
        outcomes = observe_hosts(self.inventory, self.session.links, without_gpus=still)
        hosts = {name: self._with_last_error(seen, now, still) for name, seen in outcomes.done.items()}
        state = cluster_state(self.inventory, hosts, with_images=False)
        return gpu_report(self.inventory, state, {**self.session.failed, **outcomes.failed})

    def _with_last_error(self, seen: HostSeen, now: float, still: set[str]) -> HostSeen:
        """Return `seen` with the host's last GPU error if its GPUs were not queried this time. `still` has the names of
        the hosts that were not queried, because their last query failed a short time ago.

        If the host was queried, return `seen` unchanged and update `last_errors`: store its new error with the time
        `now`, or remove the old error if the query succeeded."""
        if seen.name in still:
            return replace(seen, gpu_error=self.last_errors[seen.name][1])
        if seen.gpu_error:
            self.last_errors[seen.name] = (now, seen.gpu_error)
        else:
            self.last_errors.pop(seen.name, None)
        return seen


def gpu_report(inventory: Inventory, state: ClusterState, failed: Mapping[str, HvdockerError]) -> GpuReport:
    """Return the report on the observed `state`, with every host of the inventory. In a local cluster, whose hosts
    share their GPUs, the GPUs are listed at the first host only.

    `failed` maps each host that could not be observed to its error."""
    jobs = job_leases(state.hosts.values())
    shown: set[str] = set()
    hosts = []
    for host in inventory.hosts:
        seen = state.hosts.get(host.name)
        if seen is None:
            error = failed.get(host.name) or HvdockerError("nothing is known of it", host=host.name)
            hosts.append(HostGpus(host.name, host.host, error=error))
            continue
        found = _host_gpus(inventory, host, seen, state, jobs)
        # Hosts of a local cluster share one machine: its GPUs are listed at the first host only.
        uses = tuple(use for use in found.uses if use.gpu.uuid not in shown)
        shown |= {use.gpu.uuid for use in uses}
        hosts.append(replace(found, uses=uses))
    return GpuReport(inventory, tuple(hosts))


def _host_gpus(
    inventory: Inventory, host: Host, seen: HostSeen, state: ClusterState, jobs: Mapping[str, tuple[Lease, ...]]
) -> HostGpus:
    found = HostGpus(
        host.name,
        host.host,
        gpu_uses(seen, inventory.gpu_busy_bytes, jobs),
        notes=seen.gpu_notes,
        containers={one.id: one for one in (*seen.containers, *seen.other_containers)},
    )
    if seen.gpu_error:
        return replace(found, error=_gpus_unknown_error(host.name, seen.gpu_error))
    if seen.gpus or seen.gpu_notes:
        return found
    return replace(found, cpu_slots=CpuSlots(host.slots or 1, _slots_held_by_jobs(state, host.name)))


def _gpus_unknown_error(host: str, error: str) -> HostUnfit:
    needs_reboot = error == HUNG_ERROR or "mismatch" in error
    return HostUnfit(
        f"its GPUs are not known: {error}",
        host=host,
        command="sudo dmesg | grep -i nvrm",
        fix=f"on the host: {'sudo reboot' if needs_reboot else 'sudo modprobe nvidia'}",
    )


def _slots_held_by_jobs(state: ClusterState, host: str) -> dict[str, int]:
    return {
        master.job: share.slots
        for master in state.running_jobs()
        for share in state.placement_of(master).shares
        if share.host == host
    }


def _host_json(host: HostGpus, cluster: str) -> Mapping[str, object]:
    slots = host.cpu_slots
    return {
        "name": host.name,
        "host": host.host,
        "error": str(host.error) if host.error else None,
        "notes": list(host.notes),
        "gpus": [_gpu_json(host, use, cluster) for use in host.uses],
        "slots": {"total": slots.total, "free": slots.free, "held": dict(slots.held)} if slots else None,
    }


def _gpu_json(host: HostGpus, use: GpuUse, cluster: str) -> Mapping[str, object]:
    gpu = use.gpu
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "model": gpu.model,
        "parent": gpu.parent or None,
        "memory_mb": gpu.memory_mb,
        "free_mb": gpu.free_mb,
        "utilization": gpu.utilization,
        "temperature": gpu.temperature,
        "is_free": use.is_free,
        "is_free_in_cluster": use.is_free_in(cluster),
        "leases": [
            {"cluster": one.cluster, "owner": one.owner, "job": one.job or None, "container": one.container}
            for one in use.leases
        ],
        "processes": [_process_json(host, use, process) for process in gpu.processes],
    }


def _process_json(host: HostGpus, use: GpuUse, process: GpuProcess) -> Mapping[str, object]:
    container = host.container_of(process)
    return {
        "pid": process.pid or None,
        "program": process.name,
        "user": process.user or None,
        "used_mb": process.used_mb,
        "container": process.container or None,
        "cluster": container.cluster if container else None,
        "job": (container.job or None) if container else None,
        "is_foreign": process in use.foreign_processes,
    }
