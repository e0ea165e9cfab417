"""Filters the offered slots by what a request allows: host, kind (GPU or not), model and memory. Pure.

The strategies use only these eligible slots. They ignore all other free slots, also when they count the slots that
are left over on a host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hvdocker.placement.slots import GpuRequest, Offer, Slot, SlotRequest

# Cards report less memory than their name says: a T4 of 16 GB has 15079 MiB, an A10 of 24 GB has 23028. The
# next smaller size of card (11 for 12, 22 for 24) is below this fraction.
MIN_MEMORY_FRACTION = 0.92


@dataclass(frozen=True)
class FreeSlots:
    """The free slots of a host that the request may use.

    `index` is the host's position among the allowed hosts, which are in inventory order."""

    index: int
    host: str
    slots: tuple[Slot, ...]

    @property
    def size(self) -> int:
        return len(self.slots)


@dataclass(frozen=True)
class EligibleSlots:
    """The slots that a request may use.

    `offers` are the offers of the hosts that `--include` and `--exclude` allow; `left_out` are the other hosts.
    `by_host` has the hosts with at least one eligible free slot. `held_by_offer` has, for each of `offers`, the
    number of held slots that would be eligible if they were free. `wants_gpus` says that the job asks for GPUs."""

    request: SlotRequest
    offers: tuple[Offer, ...]
    left_out: tuple[str, ...]
    by_host: tuple[FreeSlots, ...]
    held_by_offer: tuple[int, ...]
    wants_gpus: bool

    @property
    def free_count(self) -> int:
        """The number of eligible free slots."""
        return sum(room.size for room in self.by_host)

    @property
    def ineligible_count(self) -> int:
        """The number of free slots on the allowed hosts that the request may not use: wrong kind, model or memory."""
        return sum(len(offer.free) for offer in self.offers) - self.free_count


def eligible_slots(request: SlotRequest, offers: Sequence[Offer]) -> EligibleSlots:
    """Return the slots that the request may use: `offers` (free and held slots of each host), filtered by host, kind
    (GPU or not), model and memory."""
    considered = _allowed_offers(request, offers)
    wants_gpus = _wants_gpus(request.gpu, considered)
    # With `-H` and without `--gpu`, a job may mix GPUs and processor slots.
    wanted = None if request.exact and request.gpu is None else wants_gpus
    rooms = []
    for index, offer in enumerate(considered):
        slots = tuple(slot for slot in offer.free if is_eligible(slot, request.gpu, wanted))
        if slots:
            rooms.append(FreeSlots(index, offer.host, slots))
    sizes = {room.index: room.size for room in rooms}
    held = tuple(
        _eligible_held(request.gpu, offer, sizes.get(index, 0), wants_gpus) for index, offer in enumerate(considered)
    )
    names = {offer.host for offer in considered}
    left_out = tuple(offer.host for offer in offers if offer.host not in names)
    return EligibleSlots(request, considered, left_out, tuple(rooms), held, wants_gpus)


def is_eligible(slot: Slot, gpu_request: GpuRequest | None, is_gpu: bool | None) -> bool:
    """Whether the slot has the requested kind, model and memory.

    `gpu_request` is the value of `--gpu`; None allows any model and memory. `is_gpu` is the requested kind: True for
    GPUs, False for processor slots, None for both."""
    if is_gpu is not None and slot.is_gpu != is_gpu:
        return False
    if gpu_request is None or gpu_request.is_none:
        return True
    return _is_model(gpu_request.model, slot.model) and _has_memory(gpu_request.memory_mb, slot.memory_mb)


def _allowed_offers(request: SlotRequest, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the offers of the hosts that `include` and `exclude` allow.

    A host that `include` or `exclude` names but that has no offer is ignored: it may be unreachable, or not part
    of the cluster. Wrong names need no check here, because slot_flags.py checks them against the inventory."""
    return tuple(
        offer
        for offer in offers
        if (not request.include or offer.host in request.include) and offer.host not in request.exclude
    )


def _wants_gpus(gpu_request: GpuRequest | None, offers: Sequence[Offer]) -> bool:
    """Whether the job asks for GPUs: what `--gpu` says, or without it, whether any host in `offers` has GPUs."""
    if gpu_request is not None:
        return not gpu_request.is_none
    return any(offer.offers_gpus for offer in offers)


def _eligible_held(gpu_request: GpuRequest | None, offer: Offer, fitting_slots: int, wants_gpus: bool) -> int:
    """Return how many held slots of the host in `offer` would be eligible if they were free. A request without `-np`
    asks for these too, so it does not fit before they are free.

    The kind and model of a held slot are unknown, so held slots are assumed to be like the host's other slots. If
    the request asks for GPUs (`--gpu`), held slots count only if the host has free slots and all of them are
    eligible. Without such a request, held slots count, except on a host that is known to have the wrong kind of
    slots: `wants_gpus` says whether GPUs or processor slots are wanted. `fitting_slots` is the number of eligible
    free slots of the host."""
    if not offer.held_slots:
        return 0
    if gpu_request is not None and not gpu_request.is_none:
        return offer.held_count if offer.free and fitting_slots == len(offer.free) else 0
    is_known = offer.offers_gpus or bool(offer.free)
    return offer.held_count if not is_known or offer.offers_gpus == wants_gpus else 0


def _is_model(wanted: str, model: str) -> bool:
    """Whether `wanted` matches one or more adjacent whole words of the model, ignoring case and separators.

    `rtx3090` matches `GeForce RTX 3090`, but `a10` does not match `A100`. An empty `wanted` matches any model."""
    text = "".join(_model_words(wanted))
    words = _model_words(model)
    starts = range(len(words))
    return not text or any(
        "".join(words[start:end]) == text for start in starts for end in range(start + 1, len(words) + 1)
    )


def _model_words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def _has_memory(wanted_mb: int, memory_mb: int | None) -> bool:
    return not wanted_mb or (memory_mb is not None and memory_mb >= wanted_mb * MIN_MEMORY_FRACTION)
