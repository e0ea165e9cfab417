"""Long tests, in a target of their own: they stand on the cluster tests' lab and program."""

from tests.cluster.conftest import cli, desk, hosts, lab, special, training

__all__ = ["cli", "desk", "hosts", "lab", "special", "training"]
