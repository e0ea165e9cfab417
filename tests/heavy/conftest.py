"""Long tests with their own make target. They use the fixtures of the cluster tests."""

from tests.cluster.conftest import cli, desk, hosts, lab, launcher, pytest_generate_tests, special, training

__all__ = ["cli", "desk", "hosts", "lab", "launcher", "pytest_generate_tests", "special", "training"]
