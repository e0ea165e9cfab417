"""The strategies spread (even shares on all hosts) and balanced (equal shares on the fewest hosts). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hvdocker.placement.strategies.choose import ChosenSlots, Links, choose
from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots
from hvdocker.placement.strategies.host_devices import choose_slots_on_host


def spread(np: int, rooms: Sequence[FreeSlots]) -> list[ChosenSlots]:
    """Return `np` slots: the same number on every host, fewer only where a host has fewer.

    Ranks that remain go to the first hosts with more slots. Fewer ranks than hosts go to the first hosts.
    Each host gives devices of the fewest models by itself; models are not minimized over all hosts."""
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
    """Return `np` slots in equal shares on the fewest hosts, preferring the smallest hosts with enough slots.

    Returns None if equal shares are not possible."""
    for hosts in range(1, min(np, len(rooms)) + 1):
        share, rest = divmod(np, hosts)
        if rest:
            continue
        sizes = sorted(room.size for room in rooms if room.size >= share)[:hosts]
        if len(sizes) == hosts:
            return choose(Demand(Counter(sizes), dict.fromkeys(sizes, share)), rooms, links)
    return None


def nearest_equal_counts(np: int, rooms: Sequence[FreeSlots]) -> list[int]:
    """Return the nearest numbers of ranks below and above `np` that are possible in equal shares, if any."""
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
