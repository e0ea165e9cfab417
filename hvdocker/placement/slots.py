"""The values that placement works with: slots, offers (free and held slots of a host), and requests. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.protocol.placement import Share
from hvdocker.protocol.resilience import Elastic

STRATEGIES = ("pack", "spread", "balanced")


@dataclass(frozen=True)
class Slot:
    """A place for one rank on a host.

    `device` is the UUID of a GPU or of a MIG slice, empty for a processor slot. `model` and `memory_mb` describe the
    GPU; `memory_mb` is None if it is unknown."""

    device: str = ""
    model: str = ""
    memory_mb: int | None = None

    @property
    def is_gpu(self) -> bool:
        return bool(self.device)


@dataclass(frozen=True)
class HeldSlots:
    """A number of slots of one host that are not available, and the reason (`by`).

    `by` completes the sentence `2 on b are held by …`. It names a job or a cluster with its owner, a foreign
    process, or what is wrong with the host's GPUs."""

    by: str
    slots: int


@dataclass(frozen=True)
class Offer:
    """The slots of a host that a cluster or a job could use.

    `free` are the free slots, in the order in which they are assigned. `held_slots` counts the slots that are not
    available, by holder. `has_gpus` says that the host has GPUs. Code that makes an offer must set it if all GPUs
    are held, because `offers_gpus` otherwise looks for GPUs only among the free slots."""

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
    """The value of `--gpu`, such as `A100:80GB`: a model, a minimum memory (0 in `memory_mb`: any), both, or neither
    (any GPU).

    `is_none` (`--gpu none`) requests slots without a GPU. scope_label.py writes the field names into a label
    of the workers, so they must not change."""

    model: str = ""
    memory_mb: int = 0
    is_none: bool = False


@dataclass(frozen=True)
class SlotRequest:
    """The slots that a user requests for a job or a cluster.

    `np` is the number of slots; None means all slots, or those of `exact`. `exact` are the hosts and slots of `-H`,
    which replace `strategy` (pack, spread or balanced). `head` is the host that `-H` calls localhost, or empty.
    `include` are the names of the only hosts to use (empty: all), and `exclude` are the names of hosts not to use.
    `gpu` is the value of `--gpu`, None without it. `elastic` are the bounds of an elastic job; its number of slots may
    differ from `np` within them."""

    np: int | None = None
    strategy: str = "pack"
    gpu: GpuRequest | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exact: tuple[Share, ...] = ()
    head: str = ""
    elastic: Elastic | None = None
