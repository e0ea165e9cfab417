"""Places an elastic job on as many slots as possible between its `min_np` and `max_np`. Pure."""

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
    """Return the placement of an elastic request on as many slots as possible. A request that is not elastic gets the
    slots that it asks for.

    The upper limit is `max_np`, else `np`, else all free slots. `offers` are the free and held slots of each host, in
    inventory order. `links` are the measured speeds of pairs of hosts in bits per second: of hosts that are otherwise
    equally good, those with the fastest network between them are chosen. Raise NotEnoughSlots if not even `min_np`
    slots can be placed."""
    if request.elastic is None:
        return place(request, offers, links)
    # Only eligible slots count, so `most` slots are free. A smaller number is tried only if the strategy needs
    # equal shares and `most` cannot be divided so.
    free = eligible_slots(request, offers).free_count
    most = min(request.elastic.max_np or request.np or free, free)
    for np in range(most, request.elastic.min_np, -1):
        try:
            return place(replace(request, np=np), offers, links)
        except NotEnoughSlots:
            continue
    return place(replace(request, np=request.elastic.min_np), offers, links)


def request_as_placed(request: SlotRequest, placement: Placement) -> SlotRequest:
    """Return the request for exactly the number of slots in `placement`. The returned request is not elastic (it has no
    least and greatest number of slots), so that `--explain` can compare `placement` with other placements of the same
    size.

    A request that is not elastic is returned unchanged."""
    return replace(request, np=placement.np, elastic=None) if request.elastic else request
