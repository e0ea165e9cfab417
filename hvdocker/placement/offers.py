"""Finds the slots that each host can offer: to a cluster that `up` creates, or to a job in a cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.placement.leases import GpuUse, Lease, gpu_uses, job_leases
from hvdocker.placement.slots import HeldSlots, Offer, Slot

LeasesByDevice = Mapping[str, tuple[Lease, ...]]


def offers_to_cluster(inventory: Inventory, state: ClusterState) -> list[Offer]:
    """Return the slots that the cluster may take on every observed host, one offer (free and held slots) per host.

    A host with GPUs offers the GPUs that the cluster already holds and the unused GPUs. A host without GPUs offers
    all its processor slots, even if other clusters use them too. An idle worker costs nothing. Also, slots in use by
    other clusters cannot be counted, because labels of other clusters name hosts as in their own inventories."""
    seen = {host.name: state.hosts[host.name] for host in inventory.hosts if host.name in state.hosts}
    if inventory.is_local:
        return _local_offers(inventory, seen)
    jobs = job_leases(seen.values())
    return [_host_offer(inventory, inventory.named(name), found, jobs) for name, found in seen.items()]


def _host_offer(inventory: Inventory, host: Host, seen: HostSeen, jobs: LeasesByDevice) -> Offer:
    if seen.gpu_problem:
        return Offer(host.name, (), (HeldSlots(f"its driver ({seen.gpu_problem})", host.slots or 1),), has_gpus=True)
    if not seen.gpus:
        return Offer(host.name, (Slot(),) * (host.slots or 1))
    uses = gpu_uses(seen, inventory.gpu_busy_bytes, jobs)
    return Offer(host.name, _takeable_slots(inventory, host, uses), _held_slots(inventory, uses), has_gpus=True)


def _takeable_slots(inventory: Inventory, host: Host, uses: Sequence[GpuUse]) -> tuple[Slot, ...]:
    """Return the GPUs that the cluster may take on this host, at most as many as the host's `slots:`. `uses` are the
    GPUs of the host with their holders.

    GPUs that the cluster already holds are preferred, so that the cluster keeps them."""
    free = [use for use in uses if _is_takeable(inventory, use)]
    if host.slots and host.slots < len(free):
        kept = sorted(free, key=lambda use: not use.leases)[: host.slots]
        free = [use for use in free if use in kept]
    return tuple(_slot(use.gpu) for use in free)


def _is_takeable(inventory: Inventory, use: GpuUse) -> bool:
    """Whether the cluster may hold this GPU.

    A GPU that only this cluster holds stays with it, even if foreign processes use the GPU too. A GPU without a
    lease may be taken if no foreign process uses it."""
    if use.leases:
        return all(lease.cluster == inventory.cluster for lease in use.leases)
    return not use.foreign_processes


def _held_slots(inventory: Inventory, uses: Iterable[GpuUse]) -> tuple[HeldSlots, ...]:
    theirs = (use for use in uses if not _is_takeable(inventory, use))
    return _count_by_holder(
        _holder_text(_lease_of_other_cluster(inventory, use), use.foreign_processes) for use in theirs
    )


def _lease_of_other_cluster(inventory: Inventory, use: GpuUse) -> Lease | None:
    return next((lease for lease in use.leases if lease.cluster != inventory.cluster), None)


def _local_offers(inventory: Inventory, seen: Mapping[str, HostSeen]) -> list[Offer]:
    """Return the offers (free slots) of a local cluster, whose workers share one machine, one for each worker in
    `seen`.

    The GPUs that the cluster may take are divided among the workers. If there are fewer of them than workers, no GPU is
    used and every worker offers processor slots."""
    if not seen:
        return []
    first = next(iter(seen.values()))
    uses = gpu_uses(first, inventory.gpu_busy_bytes)
    free = [use.gpu for use in uses if _is_takeable(inventory, use)]
    if len(free) < len(seen):
        return [Offer(name, (Slot(),) * (inventory.named(name).slots or 1)) for name in seen]
    least, more = divmod(len(free), len(seen))
    dealt = iter(free)
    offers = []
    for index, name in enumerate(seen):
        count = least + (index < more)
        offers.append(Offer(name, tuple(_slot(next(dealt)) for _ in range(count)), has_gpus=True))
    return offers


def offers_to_job(inventory: Inventory, state: ClusterState, host_plans: Mapping[str, HostPlan]) -> list[Offer]:
    """Return the free and held slots of each worker of the cluster for a new job. `host_plans` maps the names of the
    cluster's hosts to their plans.

    Slots of running jobs are held, as the labels of masters and of joined workers say. A GPU of this cluster also
    counts as held if another cluster holds it too or a foreign process uses it."""
    return [_worker_offer(inventory, state, place) for place in host_plans.values()]


def _worker_offer(inventory: Inventory, state: ClusterState, place: HostPlan) -> Offer:
    if not place.devices:
        jobs = _slots_held_by_jobs(state, place.name)
        left = place.slots - sum(hold.slots for hold in jobs)
        return Offer(place.name, (Slot(),) * max(0, left), jobs)
    if place.seen.gpu_problem:
        hold = HeldSlots(f"its driver ({place.seen.gpu_problem})", place.slots)
        return Offer(place.name, (), (hold,), has_gpus=True)
    uses = {use.gpu.uuid: use for use in gpu_uses(place.seen, inventory.gpu_busy_bytes)}
    known = [uses[device] for device in place.devices if device in uses]
    jobs_of = _job_devices(state, place)
    free, holders = [], ["nobody: the host does not have it any more"] * (len(place.devices) - len(known))
    for use in known:
        if use.gpu.uuid in jobs_of:
            holders.append(jobs_of[use.gpu.uuid])
        elif theirs := _lease_of_other_cluster(inventory, use):
            holders.append(str(theirs))
        elif use.foreign_processes:
            holders.append(_holder_text(None, use.foreign_processes))
        else:
            free.append(_slot(use.gpu))
    return Offer(place.name, tuple(free), _count_by_holder(holders), has_gpus=True)


def _slots_held_by_jobs(state: ClusterState, host: str) -> tuple[HeldSlots, ...]:
    return tuple(
        HeldSlots(_job_and_owner(master), share.slots)
        for master in state.running_jobs()
        for share in state.placement_of(master).shares
        if share.host == host
    )


def _job_devices(state: ClusterState, place: HostPlan) -> dict[str, str]:
    """Return which running job holds each GPU of the host `place`: the UUID of the GPU maps to text such as
    `mnist-4kq2 of kim`. GPUs that no job holds are left out.

    A job that an earlier version of hvdocker started records only the number of its slots on the host. It counts as
    holding that many of the worker's first GPUs."""
    held: dict[str, str] = {}
    for master in state.running_jobs():
        for share in state.placement_of(master).shares:
            if share.host == place.name:
                held |= dict.fromkeys(share.devices or place.devices[: share.slots], _job_and_owner(master))
    return held


def _job_and_owner(master: ContainerSeen) -> str:
    return f"{master.job} of {master.owner or '?'}"


def _holder_text(lease: Lease | None, foreigners: Sequence[GpuProcess]) -> str:
    if lease:
        return str(lease)
    return ", ".join(_process_text(one) for one in foreigners)


def _process_text(process: GpuProcess) -> str:
    if not process.pid:
        return "processes that the driver does not name"
    return f"{process.name or 'a process'} (pid {process.pid}) of {process.user or '?'}"


def _count_by_holder(holders: Iterable[str]) -> tuple[HeldSlots, ...]:
    counts: dict[str, int] = {}
    for by in holders:
        counts[by] = counts.get(by, 0) + 1
    return tuple(HeldSlots(by, count) for by, count in counts.items())


def _slot(gpu: GpuSeen) -> Slot:
    return Slot(gpu.uuid, gpu.model, gpu.memory_mb)
