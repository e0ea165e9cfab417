"""Chooses the slots of a request from the offers of the hosts, or explains why it cannot. Pure.

`place.py` turns a SlotRequest and the offers, in inventory order, into a Placement. `eligible.py` first
filters the slots by host, kind, model and memory. Then one strategy chooses: `pack.py`, `even_shares.py`
(spread and balanced) or `exact.py` (`-H`). Pack and balanced only decide how many hosts of which size they
need (`demand.py`; for pack with `packed_sizes.py`). `choose.py` then finds the hosts: `gpu_models.py` the
fewest models, `search.py` the first hosts in inventory order with fast enough links. `refusal.py` writes the
error if it does not fit. `elastic.py` tries several numbers of ranks. `explain.py` and `score.py` compare the
result with alternatives, for `--explain`.

The result is optimal by CRITERIA in score.py, except where limits stop the search (MAX_TRIALS in
gpu_models.py, and those in choose.py): then it is the best one found. A brute-force scorer in the tests
checks this on small cases.

To add a strategy, write N.py here and touch place.py, CRITERIA in score.py, STRATEGIES in
placement/slots.py, and the README."""

from hvdocker.placement.strategies.elastic import place_most, request_as_placed
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
    "request_as_placed",
]
