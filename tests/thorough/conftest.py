"""Tests of clusters and training that would take `make test` past its time: they stand on the same lab and
program, and run side by side in the same way."""

from tests.cluster.conftest import (
    cli,
    desk,
    hosts,
    lab,
    pytest_collection_modifyitems,
    pytest_xdist_make_scheduler,
    special,
    training,
)

__all__ = [
    "cli",
    "desk",
    "hosts",
    "lab",
    "pytest_collection_modifyitems",
    "pytest_xdist_make_scheduler",
    "special",
    "training",
]
