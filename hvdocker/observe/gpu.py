"""Values for the GPUs of a host: model, memory, load, and the processes that use a GPU. Pure.

gpu_query.py makes these values from the output of nvidia-smi. Memory is in MiB."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hvdocker.inventory.inventory import BUSY_BYTES
from hvdocker.units import MIB


@dataclass(frozen=True)
class GpuProcess:
    """A process that uses a GPU.

    `pid` is 0 if the driver does not report it; `name` and `user` are empty if they are unknown. `container` is the id
    of the container in which the process runs. It is empty if the process runs in none, or if that is unknown.
    `used_mb` is the GPU memory that the process uses, or None if the driver does not report it. If `pid` is 0,
    `used_mb` is the used memory of the whole GPU."""

    pid: int
    name: str = ""
    user: str = ""
    used_mb: int | None = None
    container: str = ""


@dataclass(frozen=True)
class GpuSeen:
    """A GPU device that a container can get: a whole card, or a MIG slice (a part of a card that acts as a GPU).

    For a slice, `parent` is the UUID of its card and `index` the index of its card. `parent` is empty for a whole card.
    Values that the driver does not report are None. `utilization` is in percent, `temperature` in degrees Celsius."""

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
        """The free memory, or None if the driver does not report the memory."""
        if self.memory_mb is None or self.used_mb is None:
            return None
        return max(0, self.memory_mb - self.used_mb)

    def foreign_processes(self, own: Collection[str], busy_bytes: int = BUSY_BYTES) -> tuple[GpuProcess, ...]:
        """Return the foreign processes that make this GPU busy. Return none if the GPU is not busy.

        A process is foreign if it runs in no container of `own` (container ids). If the foreign processes together use
        `busy_bytes` or more, all of them are returned. Otherwise only those whose memory is unknown are returned.
        Memory that belongs to no listed process (for example a desktop's) does not count."""
        foreign = tuple(process for process in self.processes if process.container not in own)
        unknown = tuple(process for process in foreign if process.used_mb is None)
        if sum(process.used_mb or 0 for process in foreign) * MIB >= busy_bytes:
            return foreign
        return unknown
