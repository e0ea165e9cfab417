"""Values of placement: slots, the offers of hosts, and requests for slots. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.protocol.placement import Share
from hvdocker.protocol.resilience import Elastic

STRATEGIES = ("pack", "spread", "balanced")


@dataclass(frozen=True)
class Slot:
    """Room for one rank. `device` is the UUID of a GPU or of a MIG slice, empty for a processor slot."""

    device: str = ""
    model: str = ""
    memory_mb: int | None = None

    @property
    def is_gpu(self) -> bool:
        return bool(self.device)


@dataclass(frozen=True)
class HeldSlots:
    """Slots of a host that are not available. `by` completes the sentence `2 on b are held by …`: a job or
    a cluster with its owner, a foreign process, or what is wrong with the host's GPUs."""

    by: str
    slots: int


@dataclass(frozen=True)
class Offer:
    """The free slots of a host, in the order in which they are assigned, and who holds the others.

    `has_gpus` has to be set only if all GPUs are held; otherwise the free slots show it."""

    host: str
    free: tuple[Slot, ...] = ()
    held_slots: tuple[HeldSlots, ...] = ()
    has_gpus: bool = False

    @property
    def total(self) -> int:
        return len(self.free) + self.held_count

    @property
    def held_count(self) -> int:
        return sum(hold.slots for hold in self.held_slots)

    @property
    def offers_gpus(self) -> bool:
        return self.has_gpus or any(slot.is_gpu for slot in self.free)


@dataclass(frozen=True)
class GpuRequest:
    """The value of `--gpu`, such as `A100:80GB`: a model, a minimum memory, both, or neither (any GPU).

    `is_none` (`--gpu none`) requests slots without a GPU. scope_label.py writes the field names into a label
    of the workers, so they must not change."""

    model: str = ""
    memory_mb: int = 0
    is_none: bool = False


@dataclass(frozen=True)
class SlotRequest:
    """The slots that a user requests for a job or a cluster.

    `np` None means all slots. `exact` are the shares of `-H`, which replace the strategy. `head` is the host
    that `-H` calls localhost. `include` and `exclude` are names of hosts. `elastic` are the bounds within
    which the number of slots may differ from `np`."""

    np: int | None = None
    strategy: str = "pack"
    gpu: GpuRequest | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exact: tuple[Share, ...] = ()
    head: str = ""
    elastic: Elastic | None = None
