"""The strategy pack: places a job on as few hosts as possible. Pure.

Its criteria, in this order: fewest hosts, fewest free slots left over on these hosts, largest shares first,
fewest GPU models, fastest network (by the slowest pair of hosts), inventory order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hvdocker.placement.strategies.choose import ChosenSlots, Links, choose
from hvdocker.placement.strategies.demand import Demand
from hvdocker.placement.strategies.eligible import FreeSlots
from hvdocker.placement.strategies.packed_sizes import packed_sizes


def pack(np: int, rooms: Sequence[FreeSlots], links: Links) -> list[ChosenSlots]:
    """Return `np` slots on the fewest hosts. `rooms` are the hosts with their eligible free slots, together at least
    `np`. `links` are the measured speeds of pairs of hosts in bits per second: of choices with the same sizes and
    equally few GPU models, the one with the fastest network is taken.

    The job takes all free slots of its hosts, except on the host with the fewest: that host gets the rest of the job.
    This always works: if k is the fewest possible number of hosts, any k-1 hosts have too few slots."""
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
