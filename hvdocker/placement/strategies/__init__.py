"""Chooses the slots of a request from the offers (free and held slots) of the hosts, or explains why it cannot. Pure.

`place.py` turns a SlotRequest and the offers, in inventory order, into a Placement. First, `eligible.py` filters the
slots by host, kind (GPU or not), model and memory. Then one strategy chooses: `pack.py`, `even_shares.py` (spread and
balanced) or `exact.py` (`-H`). Pack and balanced only decide how many hosts with how many free slots they need
(`demand.py`; for pack with `packed_sizes.py`). `choose.py` then finds these hosts: `gpu_models.py` finds the fewest
GPU models, `search.py` the first hosts in inventory order between which the network is fast enough. `refusal.py` makes
the error for a request that does not fit. `elastic.py` tries several numbers of ranks. `explain.py` and `score.py`
compare the result with alternatives, for `--explain`.

The result is optimal by CRITERIA in score.py, unless a limit stops the search (MAX_TRIALS in gpu_models.py,
MOST_NODES and MOST_SETS in choose.py): then it is the best result found. A brute-force scorer in the tests
checks this on small cases.

To add a strategy, write N.py here and touch place.py, CRITERIA in score.py, STRATEGIES in
placement/slots.py, and docs/guides/gpus.md."""

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
