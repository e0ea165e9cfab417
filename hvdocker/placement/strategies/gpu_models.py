"""The fewest GPU models that a demand can be met with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots

# Every set of models is tried against every kind of host, smallest sets first. Beyond so many trials (a dozen
# models and more, each of which is needed) models are only left out one by one: few, perhaps not fewest.
MOST_TRIALS = 200_000


@dataclass(frozen=True)
class HostKind:
    """Hosts that are alike: how many slots of which model they have. `places` are theirs among all rooms, as
    a set of bits."""

    size: int
    counts: tuple[tuple[str, int], ...]
    hosts: int
    places: int

    def within(self, models: frozenset[str]) -> int:
        return sum(count for model, count in self.counts if model in models)


def kinds_of(rooms: Sequence[FreeSlots]) -> list[HostKind]:
    alike: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for place, room in enumerate(rooms):
        alike.setdefault(tuple(sorted(Counter(slot.model for slot in room.slots).items())), []).append(place)
    return [
        HostKind(sum(count for _, count in counts), counts, len(places), sum(1 << place for place in places))
        for counts, places in alike.items()
    ]


def fewest_models(kinds: Sequence[HostKind], demand: Demand) -> list[frozenset[str]]:
    """Every set of that many models with which it can be done."""
    models = sorted({model for kind in kinds for model, _ in kind.counts})
    left = MOST_TRIALS // max(1, len(kinds))
    for size in range(1, len(models) + 1):
        found: list[frozenset[str]] = []
        for chosen in combinations(models, size):
            left -= 1
            if left < 0:
                return found or [_reduced(models, kinds, demand)]
            if _is_enough(frozenset(chosen), kinds, demand):
                found.append(frozenset(chosen))
        if found:
            return found
    return [frozenset(models)]


def _reduced(models: Sequence[str], kinds: Sequence[HostKind], demand: Demand) -> frozenset[str]:
    """Rare ones are tried first."""
    many = Counter(dict.fromkeys(models, 0))
    for kind in kinds:
        many.update({model: count * kind.hosts for model, count in kind.counts})
    kept = frozenset(models)
    for model in sorted(models, key=lambda model: many[model]):
        if _is_enough(kept - {model}, kinds, demand):
            kept -= {model}
    return kept


def _is_enough(models: frozenset[str], kinds: Sequence[HostKind], demand: Demand) -> bool:
    whole: Counter[int] = Counter()
    has_odd = False
    for kind in kinds:
        slots = kind.within(models)
        if slots >= demand.shares[kind.size]:
            whole[kind.size] += kind.hosts
        elif kind.size == demand.odd_size and slots >= demand.odd_share:
            has_odd = True
    return all(
        whole[size] + (has_odd and size == demand.odd_size) >= needed for size, needed in demand.hosts.items()
    )
