"""Who holds a GPU: a container of ours by its label, or somebody else by a process of consequence."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.model import names
from hvdocker.model.gpu import GpuProcess, GpuSeen
from hvdocker.model.placement import from_label
from hvdocker.model.seen import ContainerSeen, HostSeen


@dataclass(frozen=True)
class Lease:
    cluster: str
    owner: str
    job: str = ""
    container: str = ""


@dataclass(frozen=True)
class GpuUse:
    gpu: GpuSeen
    lease: Lease | None = None
    foreigners: tuple[GpuProcess, ...] = ()


def gpu_uses(host: str, seen: HostSeen, busy_bytes: int, cluster: str) -> tuple[GpuUse, ...]:
    ours = (*seen.containers, *seen.others)
    own = [container.id for container in ours]
    leases: dict[str, Lease] = {}
    for container in sorted(ours, key=lambda one: one.role == names.ROLE_MASTER):
        if container.is_living:
            leases |= dict.fromkeys(_devices(container), _lease(container))
    return tuple(GpuUse(gpu, leases.get(gpu.uuid), gpu.foreigners(own, busy_bytes)) for gpu in seen.gpus)


def _lease(container: ContainerSeen) -> Lease:
    labels = container.labels
    return Lease(
        labels.get(names.LABEL_CLUSTER, "?"), labels.get(names.LABEL_OWNER, "?"), container.job, container.id
    )


def _devices(container: ContainerSeen) -> list[str]:
    if container.role == names.ROLE_WORKER:
        return [device for device in container.labels.get(names.LABEL_GPUS, "").split(",") if device]
    placement = from_label(container.labels.get(names.LABEL_PLACEMENT, "{}"))
    return [device for share in placement.shares for device in share.devices]
