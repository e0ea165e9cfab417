"""Hostile jobs, hosts and words, with the launchers that `make test` does not try."""

from tests.cluster.test_training_hostile import *  # noqa: F403 - its tests and fixtures are collected here too

LAUNCHERS = ("torch", "each")
