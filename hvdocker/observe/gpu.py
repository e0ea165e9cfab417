"""The GPUs of a host: what they are, what they are doing, and who uses them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hvdocker.inventory.inventory import BUSY_BYTES
from hvdocker.units import MEBI


@dataclass(frozen=True)
class GpuProcess:
    """`container` is the id of the one that it runs in, where the host tells; a memory of None is one that
    the driver does not tell."""

    pid: int
    name: str = ""
    user: str = ""
    used_mb: int | None = None
    container: str = ""


@dataclass(frozen=True)
class GpuSeen:
    """A device that a container can be given: a card, or a MIG slice of one (then `parent` is the card's
    UUID, and `index` the card's). What the driver does not tell is None."""

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
        if self.memory_mb is None or self.used_mb is None:
            return None
        return max(0, self.memory_mb - self.used_mb)

    def foreigners(self, own: Collection[str], busy_bytes: int = BUSY_BYTES) -> tuple[GpuProcess, ...]:
        """Processes of consequence that run in none of the containers `own` (ids). Where the memory of one is
        not told it counts. Small ones count together."""
        foreign = tuple(process for process in self.processes if process.container not in own)
        unknown = tuple(process for process in foreign if process.used_mb is None)
        if sum(process.used_mb or 0 for process in foreign) * MEBI >= busy_bytes:
            return foreign
        return unknown
