"""Values for the GPUs of a host: model, memory, load, and the processes that make a GPU busy. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hvdocker.inventory.inventory import BUSY_BYTES
from hvdocker.units import MIB


@dataclass(frozen=True)
class GpuProcess:
    """A process that uses a GPU.

    `container` is the id of the container that it runs in, or empty if unknown. `used_mb` is None if the
    driver does not report it."""

    pid: int
    name: str = ""
    user: str = ""
    used_mb: int | None = None
    container: str = ""


@dataclass(frozen=True)
class GpuSeen:
    """A GPU device that a container can get: a card, or a MIG slice of a card.

    For a slice, `parent` is the UUID of its card and `index` the index of its card. Values that the driver
    does not report are None. `utilization` is in percent, `temperature` in degrees Celsius."""

    index: int
    uuid: str
    model: str
    memory_mb: int | None = None
    used_mb: int | None = None
    utilization: int | None = None
    temperature: int | None = None
    parent: str = ""
    processes: tuple[GpuProcess, ...] = ()

    @property
    def free_mb(self) -> int | None:
        """Return the free memory, or None if the driver does not report it."""
        if self.memory_mb is None or self.used_mb is None:
            return None
        return max(0, self.memory_mb - self.used_mb)

    def foreign_processes(self, own: Collection[str], busy_bytes: int = BUSY_BYTES) -> tuple[GpuProcess, ...]:
        """Return the processes that make this GPU busy and run in none of the containers `own` (ids).

        The memory of all foreign processes is added up: below `busy_bytes` they do not count. A process whose
        memory is unknown always counts. Memory that belongs to no compute process (a desktop's) is not
        listed, and so does not count."""
        foreign = tuple(process for process in self.processes if process.container not in own)
        unknown = tuple(process for process in foreign if process.used_mb is None)
        if sum(process.used_mb or 0 for process in foreign) * MIB >= busy_bytes:
            return foreign
        return unknown
