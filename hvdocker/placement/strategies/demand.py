"""How many hosts of each size a job gets, and how many slots of each. `choose` then picks the hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Demand:
    """`hosts` is the number of hosts by size, `shares` the slots taken on each host of a size.

    One host of size `odd_size` gets `odd_share` instead, the remainder of a packed job; 0 means no host does."""

    hosts: Mapping[int, int]
    shares: Mapping[int, int]
    odd_size: int = 0
    odd_share: int = 0
