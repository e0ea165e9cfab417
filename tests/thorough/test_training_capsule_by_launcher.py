"""Capsules, `replay` and `diff`, with the launchers that `make test` does not try."""

from tests.cluster.test_training_capsule import *  # noqa: F403 - its tests and fixtures are collected here too

LAUNCHERS = ("horovod", "torch")
