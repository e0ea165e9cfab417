"""Elastic training, with the launchers that `make test` does not try."""

from tests.cluster.test_training_elastic import *  # noqa: F403 - its tests and fixtures are collected here too

LAUNCHERS = ("torchrun",)
