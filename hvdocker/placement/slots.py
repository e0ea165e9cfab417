"""What hosts offer, and what somebody wants of it."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.protocol.placement import Share
from hvdocker.protocol.resilience import Elastic

STRATEGIES = ("pack", "spread", "balanced")


@dataclass(frozen=True)
class Slot:
    """Room for one rank: a GPU (its UUID, or a MIG slice's), or a processor slot, which has no device."""

    device: str = ""
    model: str = ""
    memory_mb: int | None = None

    @property
    def is_gpu(self) -> bool:
        return bool(self.device)


@dataclass(frozen=True)
class HeldSlots:
    """Slots of a host that cannot be had. `by` completes the sentence `2 on b are held by …`: a job or a
    cluster and its owner, a foreign process, or what is wrong with the host's GPUs."""

    by: str
    slots: int


@dataclass(frozen=True)
class Offer:
    """A host's free slots, in the order in which they are given away, and who holds the others. `has_gpus`
    need only be said where all of them are held."""

    host: str
    free: tuple[Slot, ...] = ()
    holds: tuple[HeldSlots, ...] = ()
    has_gpus: bool = False

    @property
    def total(self) -> int:
        return len(self.free) + self.held

    @property
    def held(self) -> int:
        return sum(hold.slots for hold in self.holds)

    @property
    def offers_gpus(self) -> bool:
        return self.has_gpus or any(slot.is_gpu for slot in self.free)


@dataclass(frozen=True)
class GpuRequest:
    """`--gpu A100:80GB`: a model, a least memory, both, or neither: any GPU. `--gpu none` wants slots without
    a GPU."""

    model: str = ""
    memory_mb: int = 0
    is_none: bool = False


@dataclass(frozen=True)
class SlotRequest:
    """`np` of None means all that is there. `exact` is the user's own `-H`; with it there is no strategy.
    `include` and `exclude` name hosts; `head` is the host that `-H` means by localhost. With `elastic` fewer
    will do, and more may be had."""

    np: int | None = None
    strategy: str = "pack"
    gpu: GpuRequest | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exact: tuple[Share, ...] = ()
    head: str = ""
    elastic: Elastic | None = None
