"""Processes, threads and variables that hvdocker adds to a rank, with the launchers that `make test` does not try."""

from tests.cluster.test_rank_overhead import *  # noqa: F403 - its tests and fixtures are collected here too

LAUNCHERS = ("horovod", "torch")
