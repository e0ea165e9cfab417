"""Which slots a job gets: a pure choice over what hosts offer, the reason why not, and what came close."""

from hvdocker.plan.placing.elastic import place_most, settled
from hvdocker.plan.placing.explain import Explanation, RunnerUp, explain
from hvdocker.plan.placing.place import place
from hvdocker.plan.placing.request import LOCALHOST, parse_gpu, parse_hosts_flag

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
