"""Long tests, in a target of their own: they stand on the cluster tests' lab and program."""

from tests.cluster.conftest import cli, desk, lab, training

__all__ = ["cli", "desk", "lab", "training"]
