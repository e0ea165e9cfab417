"""Faults in mid-training of docs/faults.md that every `make test` tries. All of them: `make chaos`."""

import signal

import pytest

from tests.cluster.faults.fault_injection import power_off
from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import (
    assert_no_ranks_left,
    await_progress,
    error_text,
    open_gate,
    rank_pid,
    start_watched,
)
from tests.cluster.training import await_no_ranks

pytestmark = pytest.mark.training


@pytest.mark.parametrize("launcher", ["torch"], indirect=True)
def test_host_off_in_mid_training(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "never")
        power_off(t.hosts[1])
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert said.startswith("host h2 stopped answering; rank 1 was there")
        await_no_ranks(t.site, t.hosts[:1])


def test_rank_killed(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = start_watched(t, "never")
        t.hosts[1].exec(["kill", "-KILL", str(rank_pid(t, t.hosts[1]))])
        with t.reaction():
            said = error_text(t.wait_expecting(process, 100))
        assert said.startswith("h2: rank 1 was killed by SIGKILL")
        assert_no_ranks_left(t)


def test_controller_killed_while_it_watches(training_trial: TrialFactory) -> None:
    """Training goes on, and `logs -f` from another folder picks it up."""
    with training_trial() as t:
        process = start_watched(t, "alone")
        process.send_signal(signal.SIGKILL)
        t.wait(process)
        with t.reaction():
            await_progress(t)
        elsewhere = t.site.cli.cwd / "elsewhere"
        elsewhere.mkdir()
        follower = t.site.cli.start("logs", "-f", "-i", t.site.inventory, cwd=elsewhere)
        open_gate(t, "alone")
        code, out, _ = t.wait(follower)
        assert code == 0 and "alone has come" in out
