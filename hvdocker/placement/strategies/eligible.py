"""Which of the offered slots a request may have: hosts, kind, model and memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hvdocker.placement.slots import GpuRequest, Offer, Slot, SlotRequest

# Cards report less than their name says: a T4 of 16 GB has 15079 MiB, an A10 of 24 GB has 23028. The next
# smaller size of card (11 for 12, 22 for 24) stays below.
LEAST_PART = 0.92


@dataclass(frozen=True)
class FreeSlots:
    """A host's free slots that fit. `index` is its place in the inventory's order."""

    index: int
    host: str
    slots: tuple[Slot, ...]

    @property
    def size(self) -> int:
        return len(self.slots)


@dataclass(frozen=True)
class EligibleSlots:
    """`rooms` have a slot that fits; `held` are, by host, the slots that would count were they free. Hosts
    `left_out` are those that the request does not want."""

    request: SlotRequest
    offers: tuple[Offer, ...]
    left_out: tuple[str, ...]
    rooms: tuple[FreeSlots, ...]
    held: tuple[int, ...]
    wants_gpus: bool

    @property
    def free(self) -> int:
        return sum(room.size for room in self.rooms)

    @property
    def unfit(self) -> int:
        return sum(len(offer.free) for offer in self.offers) - self.free


def fitting(request: SlotRequest, offers: Sequence[Offer]) -> EligibleSlots:
    considered = _considered(request, offers)
    wants_gpus = _wants_gpus(request.gpu, considered)
    wanted = None if request.exact and request.gpu is None else wants_gpus
    rooms = []
    for index, offer in enumerate(considered):
        slots = tuple(slot for slot in offer.free if fits(slot, request.gpu, wanted))
        if slots:
            rooms.append(FreeSlots(index, offer.host, slots))
    sizes = {room.index: room.size for room in rooms}
    held = tuple(
        _held(request.gpu, offer, sizes.get(index, 0), wants_gpus) for index, offer in enumerate(considered)
    )
    names = {offer.host for offer in considered}
    left_out = tuple(offer.host for offer in offers if offer.host not in names)
    return EligibleSlots(request, considered, left_out, tuple(rooms), held, wants_gpus)


def fits(slot: Slot, wish: GpuRequest | None, is_gpu: bool | None) -> bool:
    """`is_gpu` of None takes both kinds."""
    if is_gpu is not None and slot.is_gpu != is_gpu:
        return False
    if wish is None or wish.is_none:
        return True
    return _is_model(wish.model, slot.model) and _is_large(wish.memory_mb, slot.memory_mb)


def _considered(request: SlotRequest, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Hosts that are named and offer nothing may be away, or no part of the cluster: whoever reads the flags
    knows the inventory."""
    return tuple(
        offer
        for offer in offers
        if (not request.include or offer.host in request.include) and offer.host not in request.exclude
    )


def _wants_gpus(wish: GpuRequest | None, offers: Sequence[Offer]) -> bool:
    if wish is not None:
        return not wish.is_none
    return any(offer.offers_gpus for offer in offers)


def _held(wish: GpuRequest | None, offer: Offer, fitting_slots: int, wants_gpus: bool) -> int:
    """Nobody says of which kind a held slot is: it is taken for one like the host's free ones. Where a model
    or a memory is wanted and the host has others too, or nothing free, it does not count."""
    if not offer.holds:
        return 0
    if wish is not None and not wish.is_none:
        return offer.held if offer.free and fitting_slots == len(offer.free) else 0
    is_known = offer.offers_gpus or bool(offer.free)
    return offer.held if not is_known or offer.offers_gpus == wants_gpus else 0


def _is_model(wanted: str, model: str) -> bool:
    """Whole words of it, whatever stands between them: `rtx3090` is in `GeForce RTX 3090`, `a10` is not in
    `A100`."""
    text = "".join(_words(wanted))
    words = _words(model)
    starts = range(len(words))
    return not text or any(
        "".join(words[start:end]) == text for start in starts for end in range(start + 1, len(words) + 1)
    )


def _words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def _is_large(wanted_mb: int, memory_mb: int | None) -> bool:
    return not wanted_mb or (memory_mb is not None and memory_mb >= wanted_mb * LEAST_PART)
