"""Pack: fewest hosts; least left over on them; largest shares first; fewest models; fastest links; order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hvdocker.placement.strategies.choose import ChosenSlots, Links, choose
from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots
from hvdocker.placement.strategies.sizes import packed_sizes


def pack(np: int, rooms: Sequence[FreeSlots], links: Links) -> list[ChosenSlots]:
    """With the fewest hosts all but the smallest are full, and what is left over is on that one."""
    sizes = packed_sizes([room.size for room in rooms], np)
    smallest = sizes[-1]
    rest = np - sum(sizes[:-1])
    demand = Demand(
        hosts=Counter(sizes),
        shares={size: size for size in sizes},
        odd_size=smallest if rest < smallest else 0,
        odd_share=rest if rest < smallest else 0,
    )
    return choose(demand, rooms, links)
