"""Jobs of the past and their output, with the launchers that `make test` does not try."""

from tests.cluster.test_training_history import *  # noqa: F403 - its tests and fixtures are collected here too

LAUNCHERS = ("horovod", "each")
