"""`gc` of dead runs that `down` would refuse."""

from pathlib import Path

import pytest

from hvdocker.cluster.down import DownOptions
from hvdocker.env import Env
from hvdocker.errors import UsageProblem
from hvdocker.events import Event
from hvdocker.gc import gc
from hvdocker.gc.plan import DeadRun
from hvdocker.inventory.locate import Located
from tests.unit.builders import inventory


def test_a_run_that_must_not_be_removed_is_left_alone_and_the_others_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observe_and_plan(env: Env, own: Located, *more: object) -> str:
        if own.inventory.cluster == "run-one":
            raise UsageProblem("worker w3 is not in the inventory", fix="hvdocker up --local 3")
        return "observed"

    monkeypatch.setattr(gc, "observe_and_plan", observe_and_plan)
    events: list[Event] = []
    env = Env(cwd=tmp_path, listener=events.append)
    located = Located(inventory("local: 2"), tmp_path / "inventory.yaml")
    runs = [DeadRun(name, ("ada",), ("w1",)) for name in ("run-one", "run-two")]
    assert list(gc._look_at_runs(env, located, {}, runs, gc.GcOptions())) == ["run-two"]
    assert [event.text for event in events] == [
        "left alone: run-one: worker w3 is not in the inventory (hvdocker up --local 3)"
    ]


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_a_dry_run_lists_code_folders_as_that_of_down_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool
) -> None:
    asked: list[DownOptions] = []
    monkeypatch.setattr(gc, "observe_and_plan", lambda env, own, links, options, lost: asked.append(options))
    located = Located(inventory("local: 2"), tmp_path / "inventory.yaml")
    options = gc.GcOptions(is_dry_run=is_dry_run)
    gc._look_at_runs(Env(cwd=tmp_path), located, {}, [DeadRun("run-one", ("ada",), ("w1",))], options)
    assert [one.is_dry_run for one in asked] == [is_dry_run]
