"""Places an elastic job: on as many slots within its bounds as fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import Offer, SlotRequest
from hvdocker.placement.strategies.choose import NO_LINKS, Links
from hvdocker.placement.strategies.eligible import eligible_slots
from hvdocker.placement.strategies.place import place
from hvdocker.protocol.placement import Placement


def place_most(request: SlotRequest, offers: Sequence[Offer], links: Links = NO_LINKS) -> Placement:
    """Place the request on as many slots as possible; a request that is not elastic as `place` does.

    The upper limit is `max_np`, else `np`, else all free slots. Raises NotEnoughSlots, which then refers to
    `min_np`."""
    if request.elastic is None:
        return place(request, offers, links)
    # Only eligible slots count, so a number below `most` is tried only if `most` cannot be placed in equal
    # shares.
    free = eligible_slots(request, offers).free_count
    most = min(request.elastic.max_np or request.np or free, free)
    for np in range(most, request.elastic.min_np, -1):
        try:
            return place(replace(request, np=np), offers, links)
        except NotEnoughSlots:
            continue
    return place(replace(request, np=request.elastic.min_np), offers, links)


def request_as_placed(request: SlotRequest, placement: Placement) -> SlotRequest:
    """Return an elastic request as one for exactly the slots that were placed; others unchanged."""
    return replace(request, np=placement.np, elastic=None) if request.elastic else request
