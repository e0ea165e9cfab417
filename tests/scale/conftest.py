"""The scale tests use the fixtures of the cluster tests."""

from tests.cluster.conftest import cli, lab

__all__ = ["cli", "lab"]
