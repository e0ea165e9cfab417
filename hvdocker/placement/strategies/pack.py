"""The strategy pack. Its criteria, in this order: fewest hosts, fewest free slots left over on them, largest
shares first, fewest GPU models, fastest slowest link, inventory order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hvdocker.placement.strategies.choose import ChosenSlots, Links, choose
from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots
from hvdocker.placement.strategies.packed_sizes import packed_sizes


def pack(np: int, rooms: Sequence[FreeSlots], links: Links) -> list[ChosenSlots]:
    """Return the chosen slots. `rooms` have at least `np` slots together.

    With the fewest hosts k, any k-1 hosts have too few slots. So all hosts but the smallest are full, and
    the smallest gets the rest of the job."""
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
