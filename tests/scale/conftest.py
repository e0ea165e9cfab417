"""The scale tests stand on the cluster tests' lab and program."""

from tests.cluster.conftest import cli, lab

__all__ = ["cli", "lab"]
