"""Slots for a job that can do with fewer: as many as it wants, else the most that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hvdocker.errors import NotEnoughSlots
from hvdocker.model.endurance import Elastic
from hvdocker.model.offer import Offer, Request
from hvdocker.model.placement import Placement
from hvdocker.plan.placing.choose import NO_LINKS, Links
from hvdocker.plan.placing.place import place


def place_elastic(
    request: Request, offers: Sequence[Offer], elastic: Elastic, links: Links = NO_LINKS
) -> Placement:
    """A request that does not say how many takes all that is free, at most `max_np`. What is refused is the
    fewest that would do."""
    free = sum(len(offer.free) for offer in offers)
    most = min(request.np or elastic.max_np or free, free)
    for np in range(most, elastic.min_np, -1):
        try:
            return place(replace(request, np=np), offers, links)
        except NotEnoughSlots:
            continue
    return place(replace(request, np=elastic.min_np), offers, links)
