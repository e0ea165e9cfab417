"""Faults in mid-training of docs/faults.md that every `make test` tries. All of them: `make chaos`."""

import signal

import pytest

from tests.cluster.faults.breaking import cut, power_off
from tests.cluster.faults.fixtures import Trials
from tests.cluster.faults.jobs import (
    CUT_OFF_S,
    all_is_quiet,
    await_progress,
    error_of,
    open_gate,
    rank_pid,
    watched,
)
from tests.cluster.training import await_silence

pytestmark = pytest.mark.training


def test_host_off_in_mid_training(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        power_off(t.hosts[1])
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert said.startswith("host h2 stopped answering; rank 1 was there")
        await_silence(t.site, t.hosts[:1])


def test_rank_killed(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        t.hosts[1].exec(["kill", "-KILL", str(rank_pid(t.hosts[1]))])
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert said.startswith("h2: rank 1 was killed by SIGKILL")
        all_is_quiet(t)


def test_network_cut_for_good_in_training(training_trial: Trials) -> None:
    with training_trial() as t:
        process = watched(t, "never")
        cut(t.hosts[1], t.hosts[0].address)
        with t.reaction():
            said = error_of(t.ends(process, 100))
        assert said.startswith("host h2 stopped answering; rank 1 was there")
        all_is_quiet(t, CUT_OFF_S)


def test_controller_killed_while_it_watches(training_trial: Trials) -> None:
    """Training goes on, and `logs -f` from another folder picks it up."""
    with training_trial() as t:
        process = watched(t, "alone")
        process.send_signal(signal.SIGKILL)
        t.end_of(process)
        with t.reaction():
            await_progress(t)
        elsewhere = t.site.cli.cwd / "elsewhere"
        elsewhere.mkdir()
        follower = t.site.cli.start("logs", "-f", "-i", t.site.inventory, cwd=elsewhere)
        open_gate(t, "alone")
        code, out, _ = t.end_of(follower)
        assert code == 0 and "alone has come" in out
