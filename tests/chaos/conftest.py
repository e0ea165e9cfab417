"""The fault matrix uses the fixtures of the cluster tests: lab, program, trials."""

from tests.cluster.conftest import cli, desk, lab, special
from tests.cluster.faults.fixtures import row, training_trial, trial
from tests.cluster.launchers import launcher, pytest_generate_tests

__all__ = [
    "cli",
    "desk",
    "lab",
    "launcher",
    "pytest_generate_tests",
    "row",
    "special",
    "training_trial",
    "trial",
]
