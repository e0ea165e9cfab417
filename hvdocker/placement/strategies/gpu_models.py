"""Finds the fewest GPU models that suffice for a demand (numbers of hosts and slots). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots

# Every set of models is tried against every kind of host, smallest sets first. This is the set cover problem,
# which takes exponential time. After this many trials (a dozen or more models that are all needed), models are
# only left out one by one, and the result may not be the smallest set.
MAX_TRIALS = 200_000


@dataclass(frozen=True)
class HostKind:
    """A group of hosts that have the same number of free slots of each GPU model.

    `size` is the number of slots on each host. `counts` are the models with their numbers of slots. `hosts` is
    the number of hosts. `positions` is a bit mask of the hosts' indices in the list given to `host_kinds`."""

    size: int
    counts: tuple[tuple[str, int], ...]
    hosts: int
    positions: int

    def slots_of_models(self, models: frozenset[str]) -> int:
        """Return how many slots of these GPU models each single host of the group has."""
        return sum(count for model, count in self.counts if model in models)


def host_kinds(rooms: Sequence[FreeSlots]) -> list[HostKind]:
    """Return the hosts in `rooms` in groups: all hosts of a group have the same number of free slots of each GPU model.
    A search then has to try each group only once."""
    alike: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for place, room in enumerate(rooms):
        alike.setdefault(tuple(sorted(Counter(slot.model for slot in room.slots).items())), []).append(place)
    return [
        HostKind(sum(count for _, count in counts), counts, len(places), sum(1 << place for place in places))
        for counts, places in alike.items()
    ]


def fewest_models(kinds: Sequence[HostKind], demand: Demand) -> list[frozenset[str]]:
    """Return the smallest sets of GPU models that can meet the demand; all of them have the same size. `kinds` are
    groups of hosts with the same number of free slots of each GPU model (from `host_kinds`).

    After MAX_TRIALS trials, return the sets found so far. If there are none yet, return one set that may not be the
    smallest."""
    models = sorted({model for kind in kinds for model, _ in kind.counts})
    left = MAX_TRIALS // max(1, len(kinds))
    for size in range(1, len(models) + 1):
        found: list[frozenset[str]] = []
        for chosen in combinations(models, size):
            left -= 1
            if left < 0:
                return found or [_leave_out_models(models, kinds, demand)]
            if _meets_demand(frozenset(chosen), kinds, demand):
                found.append(frozenset(chosen))
        if found:
            return found
    return [frozenset(models)]


def _leave_out_models(models: Sequence[str], kinds: Sequence[HostKind], demand: Demand) -> frozenset[str]:
    """Return a small set of GPU models that meets the demand, but is perhaps not the smallest. Used if trying all sets
    takes too long.

    The search starts with all models (`models`). It leaves out one model after the other, rarest first, if the demand
    is still met without it. `kinds` are groups of hosts with the same number of free slots of each model (from
    `host_kinds`)."""
    many = Counter(dict.fromkeys(models, 0))
    for kind in kinds:
        many.update({model: count * kind.hosts for model, count in kind.counts})
    kept = frozenset(models)
    for model in sorted(models, key=lambda model: many[model]):
        if _meets_demand(kept - {model}, kinds, demand):
            kept -= {model}
    return kept


def _meets_demand(models: frozenset[str], kinds: Sequence[HostKind], demand: Demand) -> bool:
    whole: Counter[int] = Counter()
    has_odd = False
    for kind in kinds:
        slots = kind.slots_of_models(models)
        if slots >= demand.shares[kind.size]:
            whole[kind.size] += kind.hosts
        elif kind.size == demand.odd_size and slots >= demand.odd_share:
            has_odd = True
    return all(whole[size] + (has_odd and size == demand.odd_size) >= needed for size, needed in demand.hosts.items())
