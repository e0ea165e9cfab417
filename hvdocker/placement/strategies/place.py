"""Turns a request and the offers (free and held slots) of hosts into a placement, by the requested strategy. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.errors import NotEnoughSlots, UsageProblem
from hvdocker.placement.slots import STRATEGIES, Offer, SlotRequest
from hvdocker.placement.strategies.choose import NO_LINKS, ChosenSlots, Links
from hvdocker.placement.strategies.eligible import EligibleSlots, eligible_slots
from hvdocker.placement.strategies.even_shares import balanced, nearest_equal_counts, spread
from hvdocker.placement.strategies.exact import choose_exact
from hvdocker.placement.strategies.pack import pack
from hvdocker.placement.strategies.refusal import not_enough_error, unequal_shares_error
from hvdocker.protocol.placement import Placement, Share


def place(request: SlotRequest, offers: Sequence[Offer], links: Links = NO_LINKS) -> Placement:
    """Return the hosts, slots and GPUs that the request gets.

    `offers` are the free and held slots of each host, in inventory order. `links` are the measured speeds of pairs of
    hosts in bits per second. Of hosts that are otherwise equally good, pack and balanced choose those whose slowest
    pair is the fastest; spread and `-H` ignore the speeds. A pair that was not measured counts as slower than any
    other. Raises NotEnoughSlots if the request does not fit, and UsageProblem if it is wrong."""
    found = eligible_slots(request, offers)
    taken = _choose_slots(found, links)
    if isinstance(taken, NotEnoughSlots):
        raise taken
    return _head_first(taken, request.head)


def _choose_slots(found: EligibleSlots, links: Links) -> list[ChosenSlots] | NotEnoughSlots:
    request = found.request
    if request.np is not None and request.np < 1:
        raise UsageProblem(f"-np should be at least 1, got {request.np}")
    if request.exact:
        return choose_exact(found)
    if request.strategy not in STRATEGIES:
        raise UsageProblem(f"there is no strategy {request.strategy!r}", fix=f"it is {_join_with_or(STRATEGIES)}")
    # Without -np, held slots count too: the job is refused, not silently smaller.
    np = found.free_count + sum(found.held_by_offer) if request.np is None else request.np
    if np > found.free_count or np == 0:
        return not_enough_error(found, max(np, 1), _max_np(found))
    if request.strategy == "spread":
        return spread(np, found.by_host)
    if request.strategy == "balanced":
        return balanced(np, found.by_host, links) or unequal_shares_error(
            found, np, nearest_equal_counts(np, found.by_host)
        )
    return pack(np, found.by_host, links)


def _max_np(found: EligibleSlots) -> int:
    if found.request.strategy == "balanced":
        return max(nearest_equal_counts(found.free_count + 1, found.by_host), default=0)
    return found.free_count


def _head_first(taken: Sequence[ChosenSlots], named: str) -> Placement:
    """Return the placement on the slots `taken`, with the head first and the other hosts in inventory order.

    The head is the host `named` (the host that `-H` calls localhost). If no host has that name, or it is empty, the
    head is the host with the fewest slots; among several such hosts, the first in inventory order."""
    shares = [_share(one) for one in sorted(taken, key=lambda one: one.room.index)]
    head = min(shares, key=lambda share: (share.host != named, share.slots))
    return Placement((head, *(share for share in shares if share is not head)))


def _share(taken: ChosenSlots) -> Share:
    slots = [taken.room.slots[place] for place in taken.places]
    return Share(taken.room.host, len(slots), tuple(slot.device for slot in slots if slot.is_gpu))


def _join_with_or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
