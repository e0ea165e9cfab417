"""The fault matrix: what every fault is promised (docs/faults.md), and what a trial of it has in common.

Shared by the few faults of `make test` (tests/cluster/test_faults.py, test_training_faults.py) and by the
whole matrix of `make chaos` (tests/chaos)."""
