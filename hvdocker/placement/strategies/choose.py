"""Chooses the hosts and GPUs for a demand (numbers of hosts and slots). Pure.

The criteria, in this order: fewest GPU models, fastest network between the hosts, inventory order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots
from hvdocker.placement.strategies.gpu_models import HostKind, fewest_models, host_kinds
from hvdocker.placement.strategies.search import Candidates, LinkGraph, first_hosts

Links = Mapping[frozenset[str], float]
NO_LINKS: Links = MappingProxyType({})


# Finding the fastest links is a clique search, which takes exponential time. So the search visits at most
# MOST_NODES nodes and tries at most MOST_SETS sets of equally few GPU models, and then takes the best choice so
# far. Two dozen hosts stay far below these limits.
MOST_NODES = 100_000
MOST_SETS = 32
# Compares choices; the smaller key is better: earlier hosts, then larger shares on earlier hosts, then earlier
# devices.
_Key = tuple[list[int], list[int], list[tuple[int, ...]]]


@dataclass(frozen=True)
class ChosenSlots:
    """The slots chosen on one host. `room` has the free slots of the host; `places` are the indices of the chosen slots
    in `room.slots`."""

    room: FreeSlots
    places: tuple[int, ...]


def choose(demand: Demand, rooms: Sequence[FreeSlots], links: Links) -> list[ChosenSlots]:
    """Return the chosen slots, one entry per host in inventory order, that meet the demand (numbers of hosts and
    slots).

    `rooms` are the hosts with their eligible free slots. `links` are the measured speeds of pairs of hosts in bits per
    second: among choices with equally few GPU models, the one whose slowest pair is the fastest is taken. The caller
    has checked that `rooms` has enough hosts of each size for the demand."""
    usable = [room for room in rooms if room.size in demand.hosts]
    kinds = host_kinds(usable)
    fewest = fewest_models(kinds, demand)[: MOST_SETS if links else None]
    fields = {models: _field(models, kinds, demand) for models in fewest}
    graph = _fastest(list(fields.values()), usable, links)
    best: tuple[_Key, list[ChosenSlots]] | None = None
    for models, field in fields.items():
        hosts = first_hosts(field, graph, best[0][0] if best else None)
        if hosts is None:
            continue
        taken = _taken(hosts, usable, models, field, demand)
        key = hosts, [-len(one.places) for one in taken], [one.places for one in taken]
        if best is None or key < best[0]:
            best = key, taken
    if best is None:
        raise AssertionError("a demand that was found to be possible is not")
    return best[1]


def _field(models: frozenset[str], kinds: Sequence[HostKind], demand: Demand) -> Candidates:
    whole = dict.fromkeys(demand.hosts, 0)
    odd = 0
    for kind in kinds:
        slots = kind.slots_of_models(models)
        if slots >= demand.shares[kind.size]:
            whole[kind.size] |= kind.positions
        elif kind.size == demand.odd_size and slots >= demand.odd_share:
            odd |= kind.positions
    return Candidates(demand.hosts, whole, demand.odd_size, odd)


def _fastest(fields: Sequence[Candidates], rooms: Sequence[FreeSlots], links: Links) -> LinkGraph | None:
    """Return the graph of the fastest pairs of hosts that are enough to meet the demand. It has all pairs with at least
    a minimum speed; with a higher minimum speed the demand could not be met.

    `rooms` are the hosts with their eligible free slots. `fields` are the hosts to choose from, one entry for each
    possible set of GPU models. The minimum speed of the graph is found by bisection over the measured speeds in
    `links`. A pair that was not measured is not in the graph, so it counts as slower than any other pair. Return None
    if speeds do not matter: only one host is needed, no pair was measured, or no graph can meet the demand."""
    places = {room.host: place for place, room in enumerate(rooms)}
    measured = {
        tuple(sorted(places[host] for host in pair)): speed
        for pair, speed in links.items()
        if len(pair) == 2 and all(host in places for host in pair)
    }
    if sum(fields[0].needs.values()) < 2 or not measured:
        return None
    speeds = sorted(set(measured.values()))
    most_nodes = max(2 * len(rooms), MOST_NODES // (len(fields) * len(speeds).bit_length()))
    low, high, best = 0, len(speeds), None
    while low < high:
        middle = (low + high) // 2
        pairs = [pair for pair, speed in measured.items() if speed >= speeds[middle]]
        graph = LinkGraph(_joined(len(rooms), pairs), most_nodes)
        if any(first_hosts(field, graph) is not None for field in fields):
            low, best = middle + 1, graph
        else:
            high = middle
    return best


def _joined(count: int, pairs: Sequence[tuple[int, ...]]) -> list[int]:
    joined = [0] * count
    for one, other in pairs:
        joined[one] |= 1 << other
        joined[other] |= 1 << one
    return joined


def _taken(
    hosts: Sequence[int], rooms: Sequence[FreeSlots], models: frozenset[str], field: Candidates, demand: Demand
) -> list[ChosenSlots]:
    """Return the slots to take on each host in `hosts` (indices in `rooms`). Only slots with the GPU models in `models`
    are taken. `field` has the hosts that could be chosen for these models.

    If the demand has an odd share (the remainder of the job), one host of the size `demand.odd_size` gives only that
    share. This is a host with too few slots of these models for a full share (its bit is set in `field.odd`). If there
    is no such host, it is the last host of that size."""
    of_odd_size = [host for host in hosts if rooms[host].size == demand.odd_size]
    odd = next((host for host in of_odd_size if field.odd >> host & 1), of_odd_size[-1] if of_odd_size else -1)
    taken = []
    for host in hosts:
        room = rooms[host]
        share = demand.odd_share if host == odd else demand.shares[room.size]
        places = [place for place, slot in enumerate(room.slots) if slot.model in models]
        taken.append(ChosenSlots(room, tuple(places[:share])))
    return taken
