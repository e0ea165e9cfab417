"""The value Demand: how many hosts of each size a job needs. `choose` in choose.py then picks the hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Demand:
    """How many hosts of each size a job needs, and how many slots it takes on each of them.

    The size of a host is the number of its eligible free slots. `hosts` maps a size to a number of hosts,
    `shares` maps a size to the slots taken on each host of that size. One host of size `odd_size` gives only
    `odd_share` slots, the remainder of a packed job; both are 0 if there is no remainder."""

    hosts: Mapping[int, int]
    shares: Mapping[int, int]
    odd_size: int = 0
    odd_share: int = 0
