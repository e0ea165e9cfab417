"""Which workers a command runs in, and what its end means."""

from pathlib import Path

import pytest

from hvdocker.cluster.exec import ExecReport, workers_of
from hvdocker.env import Env
from hvdocker.errors import ExitCode, HostErrors, HostUnreachable, HvdockerError, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.inventory.select_hosts import named_hosts_or_all, select_named_hosts
from hvdocker.jobs.lookup import JobsSeen
from tests.unit.builders import host_seen, host_with_worker, inventory, state_of

LAB = inventory("hosts: [a, b, c]\nport: 12345\n")
OFF: dict[str, HvdockerError] = {"c": HostUnreachable("refused", host="c")}


def missing(tmp_path: Path, *named: str) -> tuple[dict[str, str], list[str]]:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", state="exited"))
    located = Located(LAB, tmp_path / "inventory.yaml")
    workers, errors = workers_of(Env(cwd=tmp_path), located, JobsSeen(state, {}, OFF, OFF), named)
    return workers, [str(error) for error in errors]


def test_workers_that_run_and_why_others_do_not(tmp_path: Path) -> None:
    off = "b: its worker does not run: it is exited"
    assert missing(tmp_path) == ({"a": "hvdocker-lab-worker"}, [off, "c: refused"])
    assert missing(tmp_path, "a") == ({"a": "hvdocker-lab-worker"}, [])
    assert missing(tmp_path, "b", "c") == ({}, [off, "c: refused"])


def test_a_host_without_a_worker(tmp_path: Path) -> None:
    located = Located(inventory("hosts: [a]"), tmp_path / "inventory.yaml")
    observed = JobsSeen(state_of(host_seen("a")), {})
    (error,) = workers_of(Env(cwd=tmp_path), located, observed, ())[1]
    assert (str(error), error.fix) == ("a: it has no worker", "hvdocker up -i inventory.yaml makes one")


def test_hosts_in_the_inventorys_order_each_once() -> None:
    assert select_named_hosts(LAB, ["c", "a", "c"]) == ("a", "c")
    assert named_hosts_or_all(LAB, []) == ("a", "b", "c")
    with pytest.raises(UsageProblem, match="no host x, y") as caught:
        select_named_hosts(LAB, ["y", "a", "x"])
    assert caught.value.lines == ("hosts: a, b, c",)


def test_success_everywhere_is_success() -> None:
    report = ExecReport(("a", "b"), {"a": 0, "b": 0})
    report.raise_errors()
    assert report.code == 0


def test_of_several_hosts_each_that_failed_is_named() -> None:
    report = ExecReport(("a", "b", "c"), {"a": 0, "b": 7, "c": 7})
    with pytest.raises(HostErrors) as caught:
        report.raise_errors()
    assert [(hosts, error.what) for hosts, error in caught.value.grouped()] == [(["b", "c"], "exit code 7")]
    assert (report.code, caught.value.exit_code) == (0, ExitCode.ERROR)


def test_of_one_host_the_code_is_the_commands() -> None:
    report = ExecReport(("b",), {"b": 7})
    report.raise_errors()
    assert report.code == 7


def test_a_host_that_is_away_weighs_more_than_a_command_that_failed() -> None:
    with pytest.raises(HostErrors) as caught:
        ExecReport(("a", "c"), {"a": 7}, tuple(OFF.values())).raise_errors()
    assert caught.value.exit_code == ExitCode.UNREACHABLE
    with pytest.raises(HostUnreachable, match="refused"):
        ExecReport(("a", "c"), {"a": 0}, tuple(OFF.values())).raise_errors()
