"""Decides which slots and GPUs a cluster and a job get, and shows which job or cluster holds them (verb `gpus`).

`slots.py` defines the values: slots, offers (the free and held slots of a host) and requests. `leases.py` reads from
the labels of living containers which job or cluster holds which GPU. `offers.py` turns the observed state into offers:
to a cluster, and to a job in a cluster. `slot_flags.py` turns `-np`, `-H`, `--gpu` and similar flags into a
SlotRequest. `strategies/` chooses the slots of a request from the offers. `scope.py` uses these to decide which hosts,
slots and GPUs a cluster has. `scope_label.py` writes the request as a label of the cluster's workers. The result for
one host is a HostPlan (`host_plan.py`), made by cluster/plan/addresses.py.

All of these are pure (no I/O). Only `gpus.py` and `observe_cluster.py` contact hosts; `link_speeds.py` reads a file on
the controller.

To add a strategy, write strategies/N.py and touch strategies/place.py, strategies/score.py (CRITERIA),
STRATEGIES in slots.py, and docs/guides/gpus.md."""
