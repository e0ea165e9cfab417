"""The fault matrix stands on the cluster tests' lab and program."""

from tests.cluster.conftest import cli, desk, lab, special
from tests.cluster.faults.fixtures import row, training_trial, trial

__all__ = ["cli", "desk", "lab", "row", "special", "training_trial", "trial"]
