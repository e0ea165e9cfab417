"""The network between the hosts, and between them and the laptop: cut for a moment and for good."""

import pytest

from tests.cluster.faults.fault_injection import (
    BOTH_DIRECTIONS,
    INBOUND,
    cut_off_controller,
    drop_packets,
    restore_network,
    wait_seconds,
)
from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import (
    CUT_OFF_S,
    assert_no_ranks_left,
    await_progress,
    error_text,
    finish_job,
    open_gate,
    start_detached,
    start_watched,
    steps_printed,
)
from tests.cluster.faults.trial import Trial
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab.spec import GATEWAY
from tests.cluster.lab_cluster import SMALL_IMAGE

MOMENT_S = 3.0


def shipping(t: Trial) -> "object":
    """An `up` that loads its image on the second host."""
    t.hosts[1].docker("rmi", "-f", SMALL_IMAGE)
    process = t.start("up", t.site.inventory)
    assert process.stderr is not None
    assert any("load " in line for line in iter(process.stderr.readline, ""))
    return process


@pytest.mark.parametrize("ways", [BOTH_DIRECTIONS, INBOUND], ids=["both ways", "one way"])
def test_network_cut_for_3_s_during_up(trial: TrialFactory, ways: tuple[str, ...]) -> None:
    with trial() as t:
        process = shipping(t)
        drop_packets(t.hosts[1], GATEWAY, ways)
        wait_seconds(MOMENT_S)
        restore_network(t.hosts)
        with t.reaction():
            t.wait_expecting(process, 0)


@pytest.mark.parametrize("ways", [BOTH_DIRECTIONS, INBOUND], ids=["both ways", "one way"])
def test_network_cut_for_good_during_up(trial: TrialFactory, ways: tuple[str, ...]) -> None:
    with trial() as t:
        process = shipping(t)
        drop_packets(t.hosts[1], GATEWAY, ways)
        with t.reaction():
            said = t.wait_expecting(process, 4)
        assert "h2: the connection was lost" in said and "Traceback" not in said
        assert cluster_leftovers(t.hosts[:1], t.site.cluster) == {}


@pytest.mark.parametrize("ways", [BOTH_DIRECTIONS, INBOUND], ids=["both ways", "one way"])
def test_network_cut_for_3_s_in_training(training_trial: TrialFactory, ways: tuple[str, ...]) -> None:
    with training_trial() as t:
        process = start_watched(t, "moment")
        drop_packets(t.hosts[1], t.hosts[0].address, ways)
        wait_seconds(MOMENT_S)
        restore_network(t.hosts)
        with t.reaction():
            await_progress(t)
        finish_job(t, process, "moment")


def test_network_cut_one_way_for_good_in_training(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "never")
        drop_packets(t.hosts[1], t.hosts[0].address, INBOUND)
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert "h2" in said
        assert_no_ranks_left(t, CUT_OFF_S)


def test_network_cut_beneath_a_rank_that_talks(training_trial: TrialFactory) -> None:
    """It needs no other rank, and its sshd asks nobody while something is said."""
    with training_trial() as t:
        process = t.start("train", "code/steps_horovod.py", "--", "never", "1", "talk")
        assert process.stdout is not None
        assert any("and on and on" in line for line in iter(process.stdout.readline, ""))
        drop_packets(t.hosts[1], t.hosts[0].address)
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert said.startswith("host h2 stopped answering; rank 1 was there")
        assert_no_ranks_left(t, CUT_OFF_S)


def test_laptop_offline_for_3_s(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "blink")
        cut_off_controller(t.hosts)
        wait_seconds(MOMENT_S)
        restore_network(t.hosts)
        with t.reaction():
            await_progress(t)
        finish_job(t, process, "blink")


def test_laptop_offline_and_back(training_trial: TrialFactory) -> None:
    """The job goes on; `train` finds it again, and shows every line once."""
    with training_trial() as t:
        process = start_watched(t, "lid")
        assert process.stderr is not None
        cut_off_controller(t.hosts)
        with t.reaction():
            assert any("the link to h1 broke" in line for line in iter(process.stderr.readline, ""))
        await_progress(t)
        restore_network(t.hosts)
        assert any("the link to h1 is back" in line for line in iter(process.stderr.readline, ""))
        told = steps_printed(finish_job(t, process, "lid"))
        assert told == list(range(10, 10 * len(told) + 1, 10)) and len(told) > 3


def test_laptop_offline_while_a_detached_job_runs(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        job = start_detached(t, "away")
        cut_off_controller(t.hosts)
        with t.reaction():
            said = t.run_expecting(4, "logs", job)
        assert "h1" in said
        open_gate(t, "away")
        restore_network(t.hosts)
        assert "away has come" in t.site.run("logs", "-f", job).out
        assert_no_ranks_left(t)


def test_network_cut_for_good_in_training(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "never")
        drop_packets(t.hosts[1], t.hosts[0].address)
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert said.startswith("host h2 stopped answering; rank 1 was there")
        assert_no_ranks_left(t, CUT_OFF_S)
