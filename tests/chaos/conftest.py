"""The fault matrix uses the fixtures of the cluster tests: lab, program, trials."""

from tests.cluster.conftest import cli, desk, lab, special
from tests.cluster.faults.fixtures import row, training_trial, trial

__all__ = ["cli", "desk", "lab", "row", "special", "training_trial", "trial"]
