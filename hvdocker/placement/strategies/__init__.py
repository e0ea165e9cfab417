"""Which slots a job gets: a pure choice over what hosts offer, the reason why not, and what came close."""

from hvdocker.placement.strategies.elastic import place_most, settled
from hvdocker.placement.strategies.explain import Explanation, RunnerUp, explain
from hvdocker.placement.strategies.parse_flags import LOCALHOST, parse_gpu, parse_hosts_flag
from hvdocker.placement.strategies.place import place

__all__ = [
    "LOCALHOST",
    "Explanation",
    "RunnerUp",
    "explain",
    "parse_gpu",
    "parse_hosts_flag",
    "place",
    "place_most",
    "settled",
]
