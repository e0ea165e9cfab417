"""Which job is meant, where hosts are away. They are away for want of a key: no socket is opened."""

from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostErrors, HvdockerError, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.jobs.logs import LogsRequest, logs
from hvdocker.jobs.stop import stop
from hvdocker.protocol.output import Line
from tests.unit.builders import inventory


def never(line: Line) -> None:
    raise AssertionError(line)


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Located:
    monkeypatch.setenv("HOME", str(tmp_path))
    lab = inventory("hosts: [{host: gpu-a, name: a}]\nssh: {key: /no/such/key}\n")
    return Located(lab, tmp_path / "inventory.yaml")


@pytest.mark.parametrize("wanted", [None, "train-abcd"])
def test_a_host_that_is_away_is_the_error_not_that_there_is_no_job(
    tmp_path: Path, away: Located, wanted: str | None
) -> None:
    for verb in (
        lambda: logs(Env(cwd=tmp_path), away, wanted, LogsRequest(), never),
        lambda: stop(Env(cwd=tmp_path), away, wanted),
    ):
        with pytest.raises(UsageProblem) as caught:
            verb()
        assert str(caught.value) == "a: the SSH key /no/such/key is not there"


def test_all_hosts_that_are_away_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    lab = inventory("hosts: [a, b]\nssh: {key: /no/such/key}\n")
    with pytest.raises(HostErrors, match="some hosts cannot be reached") as caught:
        logs(Env(cwd=tmp_path), Located(lab, tmp_path / "inventory.yaml"), None, LogsRequest(), never)
    errors: tuple[HvdockerError, ...] = caught.value.errors
    assert [error.host for error in errors] == ["a", "b"]
