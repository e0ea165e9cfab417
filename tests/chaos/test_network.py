"""The network between the hosts, and between them and the laptop: cut for a moment and for good."""

import pytest

from tests.cluster.faults.breaking import BOTH, TO_THE_HOST, cut, cut_off_laptop, join, let_pass
from tests.cluster.faults.fixtures import Trials
from tests.cluster.faults.jobs import (
    CUT_OFF_S,
    all_is_quiet,
    await_progress,
    detached,
    error_of,
    finishes,
    open_gate,
    steps_told,
    watched,
)
from tests.cluster.faults.trial import Trial
from tests.cluster.lab.spec import GATEWAY
from tests.cluster.site import SMALL_IMAGE
from tests.cluster.traces import left_of

MOMENT_S = 3.0


def shipping(t: Trial) -> "object":
    """An `up` that loads its image on the second host."""
    t.hosts[1].docker("rmi", "-f", SMALL_IMAGE)
    process = t.start("up", t.site.inventory)
    assert process.stderr is not None
    assert any("load " in line for line in iter(process.stderr.readline, ""))
    return process


@pytest.mark.parametrize("ways", [BOTH, TO_THE_HOST], ids=["both ways", "one way"])
def test_network_cut_for_3_s_during_up(trial: Trials, ways: tuple[str, ...]) -> None:
    with trial() as t:
        process = shipping(t)
        cut(t.hosts[1], GATEWAY, ways)
        let_pass(MOMENT_S)
        join(t.hosts)
        with t.reaction():
            t.ends(process, 0)


@pytest.mark.parametrize("ways", [BOTH, TO_THE_HOST], ids=["both ways", "one way"])
def test_network_cut_for_good_during_up(trial: Trials, ways: tuple[str, ...]) -> None:
    with trial() as t:
        process = shipping(t)
        cut(t.hosts[1], GATEWAY, ways)
        with t.reaction():
            said = t.ends(process, 4)
        assert "h2: the connection was lost" in said and "Traceback" not in said
        assert left_of(t.hosts[:1], t.site.cluster) == {}


@pytest.mark.parametrize("ways", [BOTH, TO_THE_HOST], ids=["both ways", "one way"])
def test_network_cut_for_3_s_in_training(training_trial: Trials, ways: tuple[str, ...]) -> None:
    with training_trial() as t:
        process = watched(t, "moment")
        cut(t.hosts[1], t.hosts[0].address, ways)
        let_pass(MOMENT_S)
        join(t.hosts)
        with t.reaction():
            await_progress(t)
        finishes(t, process, "moment")


def test_network_cut_one_way_for_good_in_training(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        cut(t.hosts[1], t.hosts[0].address, TO_THE_HOST)
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert "h2" in said
        all_is_quiet(t, CUT_OFF_S)


def test_network_cut_beneath_a_rank_that_talks(training_trial: Trials) -> None:
    """It needs no other rank, and its sshd asks nobody while something is said."""
    with training_trial() as t:
        process = t.start("train", "code/steady.py", "--", "never", "1", "talk")
        assert process.stdout is not None
        assert any("and on and on" in line for line in iter(process.stdout.readline, ""))
        cut(t.hosts[1], t.hosts[0].address)
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert said.startswith("host h2 stopped answering; rank 1 was there")
        all_is_quiet(t, CUT_OFF_S)


def test_laptop_offline_for_3_s(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "blink")
        cut_off_laptop(t.hosts)
        let_pass(MOMENT_S)
        join(t.hosts)
        with t.reaction():
            await_progress(t)
        finishes(t, process, "blink")


def test_laptop_offline_and_back(training_trial: Trials) -> None:
    """The job goes on; `train` finds it again, and shows every line once."""
    with training_trial() as t:
        process = watched(t, "lid")
        assert process.stderr is not None
        cut_off_laptop(t.hosts)
        with t.reaction():
            assert any("the link to h1 broke" in line for line in iter(process.stderr.readline, ""))
        await_progress(t)
        join(t.hosts)
        assert any("the link to h1 is back" in line for line in iter(process.stderr.readline, ""))
        told = steps_told(finishes(t, process, "lid"))
        assert told == list(range(10, 10 * len(told) + 1, 10)) and len(told) > 3


def test_laptop_offline_while_a_detached_job_runs(training_trial: Trials) -> None:
    with training_trial() as t:
        job = detached(t, "away")
        cut_off_laptop(t.hosts)
        with t.reaction():
            said = t.fails(4, "logs", job)
        assert "h1" in said
        open_gate(t, "away")
        join(t.hosts)
        assert "away has come" in t.site.run("logs", "-f", job).out
        all_is_quiet(t)
