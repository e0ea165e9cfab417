"""Restarts of jobs that are not elastic: after a failure, from their checkpoint, on the remaining hosts."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import (
    await_line,
    await_no_ranks,
    await_ranks,
    open_gate,
    powered_off,
    train_detached,
    training_cluster,
)

pytestmark = pytest.mark.training

RULES = [{"match": "ECC error", "then": "drop"}, {"match": "out of memory", "then": "stop"}]


@pytest.fixture(scope="module")
def training(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    """With rules for lines of ranks."""
    with training_cluster(lab, desk, rules=RULES) as site:
        yield site


def test_a_job_that_fails_is_run_again_from_what_it_kept(training: LabCluster) -> None:
    result = training.run("train", "code/fail_once.py", "--restarts", "2", "--", "1", "7")
    lines = re.findall(r"run \d of rank \d of \d: kept .*", result.out)
    assert sorted(lines) == [
        "run 0 of rank 0 of 2: kept nothing",
        "run 0 of rank 1 of 2: kept nothing",
        "run 1 of rank 0 of 2: kept run 0",
        "run 1 of rank 1 of 2: kept run 0",
    ]
    assert "rank 1 on h2" in result.out and "exit code 7" in result.out
    await_no_ranks(training)


def test_a_job_without_restarts_is_not_run_again(training: LabCluster) -> None:
    result = training.run("train", "code/fail_once.py", "--propagate-exit", "--", "1", "7", check=7)
    assert "run 1" not in result.out and "h2: rank 1 failed with exit code 7" in result.err
    await_no_ranks(training)


def test_a_line_that_a_rule_knows_leaves_its_host_out(training: LabCluster) -> None:
    words = ["--restarts", "1", "--", "1", "7", "an uncorrectable ECC error"]
    result = training.run("train", "code/fail_once.py", *words)
    assert "running it again on h1:1 (" in result.out
    assert "run 1 of rank 0 of 1: kept run 0" in result.out
    assert "h2 is left out should the job be run again" in result.out
    await_no_ranks(training)


def test_a_line_that_a_rule_knows_ends_restarts(training: LabCluster) -> None:
    words = ["--restarts", "3", "--", "1", "7", "CUDA out of memory"]
    result = training.run("train", "code/fail_once.py", *words, check=100)
    assert "run 1" not in result.out
    assert "not run again because of the rule" in result.err
    await_no_ranks(training)


def test_on_the_hosts_that_are_left(training: LabCluster) -> None:
    h2 = training.hosts[1]
    job = train_detached(training, "code/gate.py", "--restarts", "1", "--", "alone")
    await_ranks(training, "gate.py alone")
    with powered_off(h2):
        await_line(training, job, r"h2 stopped answering")
        await_line(training, job, r"running it again on h1:1")
        training.hosts[0].exec(["touch", "/srv/lab-data/alone"])
        assert training.run("attach", job).code == 0
    record = json.loads(_record(training, training.hosts[0], job))
    assert record["restarts"] == 1
    assert [attempt["hosts"] for attempt in record["attempts"]] == [["h1", "h2"], ["h1"]]
    assert record["attempts"][0]["lost_hosts"] == ["h2"]
    await_no_ranks(training)


def _record(site: LabCluster, host: LabHost, job: str) -> str:
    return host.exec(f"cat {site.folder_on(host)}/jobs/{job}/logs/record.json")


def test_the_gate_was_left_open_for_nobody(training: LabCluster) -> None:
    """A rank of the next job finds no trace of the one before."""
    open_gate(training, "next")
    assert "next has come" in training.run("train", "code/gate.py", "--", "next").out
