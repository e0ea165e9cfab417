"""Fixtures of fault tests: `trial()` has no cluster up, `training_trial()` has one that can train."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.faults import trial as trials
from tests.cluster.faults.matrix import FaultRow, fault_rows
from tests.cluster.faults.report import REACTION_PROPERTY
from tests.cluster.faults.trial import Trial
from tests.cluster.lab import Lab
from tests.cluster.launchers import LauncherCase

TrialFactory = Callable[..., AbstractContextManager[Trial]]


@pytest.fixture
def row(request: pytest.FixtureRequest) -> FaultRow:
    """The row of docs/faults.md whose id is the name of this test."""
    return fault_rows()[request.node.originalname.removeprefix("test_")]


@pytest.fixture
def trial(lab: Lab, cli: Cli, row: FaultRow, record_property: Callable[[str, object], None]) -> TrialFactory:
    return _recording(trials.small_trial, lab, cli, row, record_property)


@pytest.fixture
def training_trial(
    lab: Lab, cli: Cli, row: FaultRow, record_property: Callable[[str, object], None], launcher: LauncherCase
) -> TrialFactory:
    return _recording(partial(trials.training_trial, launcher=launcher), lab, cli, row, record_property)


def _recording(
    make: TrialFactory, lab: Lab, cli: Cli, row: FaultRow, record_property: Callable[[str, object], None]
) -> TrialFactory:
    @contextmanager
    def recorded(*args: Any, **settings: Any) -> Iterator[Trial]:
        with make(lab, cli, row, *args, **settings) as found:
            try:
                yield found
            finally:
                record_property(REACTION_PROPERTY, found.seconds)

    return recorded
