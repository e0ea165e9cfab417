"""Decisions about running a job again."""

from typing import Any

import pytest
from inside.supervisor.restarts import (
    describe_exit,
    hosts_by_rank,
    loss_is_cause_within_s,
    lost_sentence,
    may_restart,
    remaining_hosts,
    restart_pause_s,
    restart_sentence,
    shortage_sentence,
)

from hvdocker.protocol.job_file import JobHost
from hvdocker.protocol.resilience import Resilience

A, B, C = JobHost("a", "198.18.0.2", 2), JobHost("b", "198.18.0.3", 4), JobHost("c", "198.18.0.4", 1)


def test_ranks_go_to_hosts_in_order() -> None:
    assert hosts_by_rank((A, C)) == {0: "a", 1: "a", 2: "c"}


def test_the_head_always_takes_part() -> None:
    job_hosts = (A, B, C)
    assert remaining_hosts(job_hosts, "a", {"b", "c"}, ()) == job_hosts
    assert remaining_hosts(job_hosts, "a", {"b", "c"}, {"c"}) == (A, B)
    assert remaining_hosts(job_hosts, "a", set(), {"a"}) == (A,)


def test_a_job_that_fails_at_once_waits_longer_and_longer() -> None:
    pauses = [restart_pause_s([0.1] * count) for count in range(1, 8)]
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert restart_pause_s([0.1, 0.1, 3600, 0.1]) == 1
    assert restart_pause_s([0.1] * 5000) == 30


def test_a_job_is_run_again_as_often_as_was_said() -> None:
    assert may_restart(Resilience(restarts=2), 1, False)
    assert not may_restart(Resilience(restarts=2), 2, False)
    assert not may_restart(Resilience(restarts=2), 0, True)


def test_the_sentence_counts_restarts_of_earlier_masters() -> None:
    resilience = Resilience(restarts=2, first_restart=3)
    assert restart_sentence(1, "hung", (A, B), resilience, 1) == (
        "run 1 hung; running it again on a:2,b:4 (restart 4 of 5)"
    )


def test_a_lost_host_is_no_reason_for_what_fails_hours_later() -> None:
    assert loss_is_cause_within_s(600.0, is_own_failure=True) == 60
    assert loss_is_cause_within_s(600.0, is_own_failure=False) == 660
    assert loss_is_cause_within_s(30.0, is_own_failure=False) == 90


@pytest.mark.parametrize(("timeout_s", "words"), [(600.0, "10 min"), (90.0, "90 s"), (30.0, "30 s")])
def test_a_shortage_is_told_with_its_time(timeout_s: float, words: str) -> None:
    assert shortage_sentence(1, 2, timeout_s) == (
        f"1 slot(s) left, at least 2 needed: waiting up to {words} for a host (hvdocker up brings one back)"
    )


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ({"code": 7, "signal": None}, "exit code 7"),
        ({"code": 137, "signal": 9}, "signal SIGKILL"),
        ({"code": 137, "signal": 9, "oom": True}, "out of memory"),
        ({"code": 190, "signal": 62}, "signal 62"),
    ],
)
def test_how_a_rank_ended_is_said_in_words(mark: dict[str, Any], words: str) -> None:  # Any: JSON
    assert describe_exit(mark) == words


def test_a_lost_host_is_named_with_its_ranks() -> None:
    assert lost_sentence("b", [1]) == "b stopped answering (rank 1 was there)"
    assert lost_sentence("b", [1, 2]) == "b stopped answering (ranks 1, 2 were there)"
    assert lost_sentence("b", []) == "b stopped answering"
