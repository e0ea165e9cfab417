"""Slots for a job that can do with fewer: the most that it may have, else the most that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import Offer, SlotRequest
from hvdocker.placement.strategies.choose import NO_LINKS, Links
from hvdocker.placement.strategies.eligible import fitting
from hvdocker.placement.strategies.place import place
from hvdocker.protocol.placement import Placement


def place_most(request: SlotRequest, offers: Sequence[Offer], links: Links = NO_LINKS) -> Placement:
    """What is not elastic is placed as it is. Else at most `max_np`, or `np` where there is no bound, or all
    that is free where neither is said; what is refused is the fewest that would do."""
    if request.elastic is None:
        return place(request, offers, links)
    # Of those that fit: then a smaller number is tried only where this one cannot be had in equal shares.
    free = fitting(request, offers).free
    most = min(request.elastic.max_np or request.np or free, free)
    for np in range(most, request.elastic.min_np, -1):
        try:
            return place(replace(request, np=np), offers, links)
        except NotEnoughSlots:
            continue
    return place(replace(request, np=request.elastic.min_np), offers, links)


def settled(request: SlotRequest, placement: Placement) -> SlotRequest:
    """The request for just what was placed."""
    return replace(request, np=placement.np, elastic=None) if request.elastic else request
