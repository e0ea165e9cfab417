"""Faults in mid-training of docs/faults.md that every `make test` tries. All of them: `make chaos`."""

import pytest

from tests.cluster.faults.breaking import cut, power_off
from tests.cluster.faults.fixtures import Trials
from tests.cluster.faults.jobs import all_is_quiet, error_of, rank_pid, watched

pytestmark = pytest.mark.training


def test_host_off_in_mid_training(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        power_off(t.hosts[1])
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert "h2" in said


def test_rank_killed(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        t.hosts[1].exec(["kill", "-KILL", str(rank_pid(t.hosts[1]))])
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert said.startswith("h2: rank 1 was killed by signal 9")
        all_is_quiet(t)


def test_network_cut_for_good_in_training(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        cut(t.hosts[1], t.hosts[0].address)
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert "h2" in said
        all_is_quiet(t)
