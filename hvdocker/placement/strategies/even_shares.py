"""The strategies spread and balanced. Pure.

Spread uses as many hosts as it can, evenly. Balanced uses the fewest hosts that give equal numbers of slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hvdocker.placement.strategies.choose import ChosenSlots, Links, choose
from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots
from hvdocker.placement.strategies.host_devices import choose_slots_on_host


def spread(np: int, rooms: Sequence[FreeSlots]) -> list[ChosenSlots]:
    """Return `np` slots, as far as possible the same number on every host. A host with too few slots gives all that it
    has. `rooms` are the hosts with their eligible free slots, together at least `np`.

    If ranks remain, each of the first hosts that still have a free slot gets one more. If there are fewer ranks than
    hosts, each of the first hosts gets one. On each host, GPUs of the fewest models are chosen; the number of models
    is not minimized over all hosts."""
    level, left = 0, np
    while left >= (higher := sum(room.size > level for room in rooms)) > 0:
        left -= higher
        level += 1
    taken = []
    for room in rooms:
        extra = left > 0 and room.size > level
        left -= extra
        share = min(room.size, level) + extra
        if share:
            taken.append(ChosenSlots(room, choose_slots_on_host(room, share)))
    return taken


def balanced(np: int, rooms: Sequence[FreeSlots], links: Links) -> list[ChosenSlots] | None:
    """Return `np` slots on the fewest hosts, with the same number of slots on each host. Return None if equal numbers
    are not possible.

    Of the hosts with enough free slots, those with the fewest are preferred. `rooms` are the hosts with their eligible
    free slots. `links` are the measured speeds of pairs of hosts in bits per second: of choices with the same sizes and
    equally few GPU models, the one with the fastest network is taken."""
    for hosts in range(1, min(np, len(rooms)) + 1):
        share, rest = divmod(np, hosts)
        if rest:
            continue
        sizes = sorted(room.size for room in rooms if room.size >= share)[:hosts]
        if len(sizes) == hosts:
            return choose(Demand(Counter(sizes), dict.fromkeys(sizes, share)), rooms, links)
    return None


def nearest_equal_counts(np: int, rooms: Sequence[FreeSlots]) -> list[int]:
    """Return the nearest numbers of ranks below and above `np` that the strategy balanced can place. Used to suggest
    another `-np`.

    The result has two numbers, one below and one above `np`, or only one of them if no other is possible. `rooms`
    are the hosts with their eligible free slots."""
    sizes = Counter(room.size for room in rooms)
    below, above = 0, 0
    roomy = 0
    for share in range(max(sizes, default=0), 0, -1):
        roomy += sizes[share]
        below = max(below, share * min(roomy, (np - 1) // share))
        hosts = np // share + 1
        if hosts <= roomy and (not above or share * hosts < above):
            above = share * hosts
    return [found for found in (below, above) if found]
