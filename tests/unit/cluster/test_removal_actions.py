"""Removal of containers by an engine that fails at first."""

from dataclasses import dataclass

import docker.errors
import pytest

from hvdocker.cluster import removal_actions
from hvdocker.cluster.steps import RemoveContainer
from hvdocker.errors import HvdockerError
from hvdocker.plan.apply import Context, apply
from hvdocker.plan.plan import plan_of
from tests.unit.builders import inventory
from tests.unit.fakes import FakeLink

BUSY = 'container c1: driver "overlay2" failed to remove root filesystem: unlinkat merged: directory not empty'


@dataclass
class Engine:
    """Fails the first `failures` removals with the error `said`."""

    failures: int
    said: str = BUSY
    attempts: int = 0

    def remove_container(self, container: str, force: bool, v: bool) -> None:
        assert (container, force, v) == ("c1", True, True)
        self.attempts += 1
        if self.attempts <= self.failures:
            raise docker.errors.APIError("500 Server Error", explanation=self.said)


@dataclass
class Link(FakeLink):
    own: Engine | None = None

    def engine(self) -> Engine:
        assert self.own
        return self.own


def remove_with(engine: Engine) -> None:
    context = Context(inventory(), {"a": Link("a", own=engine)})
    apply(plan_of("down", "lab", ("containers", [RemoveContainer("a", "hvdocker-lab-worker", "c1")])), context)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal_actions, "BUSY_PAUSES_S", (0.0, 0.0))


def test_a_container_whose_files_are_in_use_is_removed_by_a_later_attempt() -> None:
    engine = Engine(failures=2)
    remove_with(engine)
    assert engine.attempts == 3


def test_files_that_stay_in_use_are_an_error_in_the_words_of_the_engine() -> None:
    engine = Engine(failures=9)
    with pytest.raises(HvdockerError) as caught:
        remove_with(engine)
    assert engine.attempts == 3 and "directory not empty" in str(caught.value.lines)


def test_another_error_of_the_engine_is_not_tried_again() -> None:
    engine = Engine(failures=9, said="permission denied")
    with pytest.raises(HvdockerError):
        remove_with(engine)
    assert engine.attempts == 1
