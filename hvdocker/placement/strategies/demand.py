"""How many hosts of which size a job gets, and how much of each: what is left is to say which hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Demand:
    """`hosts` by size; `shares` of each host of a size. One of the hosts of size `odd_size` gets `odd_share`
    instead: the rest of a packed job. An `odd_size` of 0: none does."""

    hosts: Mapping[int, int]
    shares: Mapping[int, int]
    odd_size: int = 0
    odd_share: int = 0
