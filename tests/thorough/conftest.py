"""Tests of clusters and training that would make `make test` too long. They use the fixtures of the cluster
tests and run in parallel in the same way."""

from tests.cluster.conftest import (
    cli,
    desk,
    hosts,
    lab,
    launcher,
    pytest_collection_modifyitems,
    pytest_generate_tests,
    pytest_xdist_make_scheduler,
    special,
    training,
)

__all__ = [
    "cli",
    "desk",
    "hosts",
    "lab",
    "launcher",
    "pytest_collection_modifyitems",
    "pytest_generate_tests",
    "pytest_xdist_make_scheduler",
    "special",
    "training",
]
