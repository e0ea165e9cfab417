"""A brute-force reference for placement: scores every possible allocation by the documented criteria. It
shares no code with the placement that it checks, and is simple and slow."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations

from hvdocker.placement.slots import Offer, Slot, SlotRequest

Links = dict[frozenset[str], float]
Allocation = tuple[tuple[int, ...], ...]  # for every host the indexes of the slots that are used


@dataclass(frozen=True)
class FittingSlots:
    """The hosts that have slots that fit the request, in inventory order."""

    hosts: list[str]
    slots: list[list[Slot]]
    links: Links


def fitting_slots(request: SlotRequest, offers: list[Offer], links: Links) -> FittingSlots:
    hosts = [o for o in offers if (not request.include or o.host in request.include)]
    hosts = [o for o in hosts if o.host not in request.exclude]
    are_gpus = any(slot.device for o in hosts for slot in o.free)
    fitting = {o.host: [slot for slot in o.free if _fits(slot, request, are_gpus)] for o in hosts}
    there = [host for host, slots in fitting.items() if slots]
    return FittingSlots(there, [fitting[host] for host in there], links)


def _fits(slot: Slot, request: SlotRequest, are_gpus: bool) -> bool:
    """Simplified: in the test cases, models are single words and memory is exact."""
    wish = request.gpu
    if wish is None:
        return bool(slot.device) == are_gpus
    if wish.is_none:
        return not slot.device
    is_model = not wish.model or wish.model == slot.model
    is_large = not wish.memory_mb or (slot.memory_mb is not None and slot.memory_mb >= wish.memory_mb)
    return bool(slot.device) and is_model and is_large


def best_allocation(strategy: str, np: int, table: FittingSlots) -> dict[str, list[Slot]] | None:
    """Return the slots of each host in the best allocation; None if there is no allocation."""
    scored = []
    for allocation in _allocations(table.slots, np):
        score = {"pack": _pack, "spread": _spread, "balanced": _balanced}[strategy](allocation, table)
        if score is not None:
            scored.append((score, allocation))
    if not scored:
        return None
    _, best = min(scored)
    return {
        host: [slots[place] for place in places]
        for host, slots, places in zip(table.hosts, table.slots, best, strict=True)
        if places
    }


def _allocations(hosts: list[list[Slot]], np: int) -> Iterator[Allocation]:
    if not hosts:
        if np == 0:
            yield ()
        return
    for places in _subsets(hosts[0]):
        if len(places) <= np <= len(places) + sum(len(slots) for slots in hosts[1:]):
            for others in _allocations(hosts[1:], np - len(places)):
                yield (places, *others)


def _subsets(slots: list[Slot]) -> Iterator[tuple[int, ...]]:
    """Return all subsets of the slots. CPU slots are all alike, so only their number varies."""
    places = range(len(slots))
    if not any(slot.device for slot in slots):
        return (tuple(places[:size]) for size in range(len(slots) + 1))
    return chain.from_iterable(combinations(places, size) for size in range(len(slots) + 1))


def _pack(allocation: Allocation, table: FittingSlots) -> tuple[object, ...]:
    used = [host for host, places in enumerate(allocation) if places]
    fewest_hosts = len(used)
    fewest_left_over = sum(len(table.slots[host]) - len(allocation[host]) for host in used)
    largest_shares = [-share for share in sorted((len(allocation[host]) for host in used), reverse=True)]
    return (fewest_hosts, fewest_left_over, largest_shares, *_models_links_order(allocation, table))


def _balanced(allocation: Allocation, table: FittingSlots) -> tuple[object, ...] | None:
    used = [host for host, places in enumerate(allocation) if places]
    if len({len(allocation[host]) for host in used}) != 1:
        return None
    left_over = sum(len(table.slots[host]) - len(allocation[host]) for host in used)
    return (len(used), left_over, *_models_links_order(allocation, table))


def _spread(allocation: Allocation, table: FittingSlots) -> tuple[object, ...]:
    """Most even first (smallest sum of squares), extra slots to earlier hosts; then models and order per
    host."""
    shares = [len(places) for places in allocation]
    models = [
        len({slots[place].model for place in places}) for slots, places in zip(table.slots, allocation, strict=True)
    ]
    return sum(share**2 for share in shares), [-share for share in shares], models, allocation


def _models_links_order(allocation: Allocation, table: FittingSlots) -> tuple[object, ...]:
    used = [host for host, places in enumerate(allocation) if places]
    models = {table.slots[host][place].model for host in used for place in allocation[host]}
    speeds = [
        table.links.get(frozenset({table.hosts[one], table.hosts[other]}), -1.0) for one, other in combinations(used, 2)
    ]
    slowest = min(speeds, default=0.0)
    shares = [-len(allocation[host]) for host in used]
    return len(models), -slowest, used, shares, [allocation[host] for host in used]
