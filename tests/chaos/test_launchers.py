"""The same faults with every launcher: the same words, the same exit codes, and nothing is left.

All faults of one launcher share a cluster. `down`, a look at what is left and another `up` come after the last."""

import re
import signal
from collections.abc import Callable, Iterator
from subprocess import Popen

import pytest

from tests.cluster.cli import Cli
from tests.cluster.faults import trial as trials
from tests.cluster.faults.fault_injection import power_off, power_on, repair_hosts
from tests.cluster.faults.jobs import (
    assert_next_job_runs,
    assert_no_ranks_left,
    await_progress,
    error_text,
    finish_job,
    forget_checkpoints,
    newest_job,
    open_gate,
    rank_pid,
    start_watched,
    train_words,
)
from tests.cluster.faults.matrix import FaultRow
from tests.cluster.faults.report import REACTION_PROPERTY
from tests.cluster.faults.trial import Trial
from tests.cluster.lab import Lab
from tests.cluster.launchers import CASES, LauncherCase
from tests.cluster.training import await_no_ranks

LAUNCHERS = tuple(CASES)


@pytest.fixture(scope="module")
def shared(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[Trial]:
    nothing_yet = FaultRow("", "", "", "", "")
    with trials.training_trial(lab, desk, nothing_yet, launcher=launcher) as found:
        yield found


@pytest.fixture
def t(shared: Trial, row: FaultRow, record_property: Callable[[str, object], None]) -> Trial:
    """The shared cluster, up and idle whatever the fault before did to it."""
    shared.row = row
    # At once: what is recorded after the test is in no report.
    shared.on_reaction = lambda seconds: record_property(REACTION_PROPERTY, seconds)
    repair_hosts(shared.hosts)
    shared.site.up()
    if any(job["state"] == "running" for job in shared.site.status()["jobs"]):
        shared.site.run("stop")
    forget_checkpoints(shared)
    return shared


def start_breaking(t: Trial, fault: str, *flags: str, ranks: str = "1", gate: str = "never") -> "Popen[str]":
    """Start a `train` whose rank 1, or other `ranks`, break in that way; return when they do."""
    process = t.start(*train_words(t, *flags), gate, ranks, fault)
    assert process.stdout is not None
    assert any(f"breaks: {fault}" in line for line in iter(process.stdout.readline, ""))
    return process


def end_of(t: Trial, process: "Popen[str]", code: int) -> str:
    """Return the error with which `train` ends; no rank is left, and the next job runs."""
    with t.reaction():
        said = error_text(t.wait_expecting(process, code))
    assert_no_ranks_left(t)
    assert_next_job_runs(t)
    return said


def test_every_launcher_rank_raises(t: Trial) -> None:
    said = end_of(t, start_breaking(t, "exception"), 100)
    assert said.startswith("h2: rank 1 failed with exit code 1")
    assert "RuntimeError: the data make no sense" in said


def test_every_launcher_rank_exits_with_7(t: Trial) -> None:
    said = end_of(t, start_breaking(t, "7", "--propagate-exit"), 7)
    assert said.startswith("h2: rank 1 failed with exit code 7")


def test_every_launcher_rank_killed(t: Trial) -> None:
    process = start_watched(t, "never")
    t.hosts[1].exec(["kill", "-KILL", str(rank_pid(t, t.hosts[1]))])
    assert end_of(t, process, 100).startswith("h2: rank 1 was killed by SIGKILL")


def test_every_launcher_rank_out_of_memory(t: Trial) -> None:
    said = end_of(t, start_breaking(t, "memory"), 100)
    assert said.startswith("h2: rank 1 ") and "out of memory" in said


def test_every_launcher_rank_hanging(t: Trial) -> None:
    """Processes of `each` wait for no other, and MPI waits with a busy CPU: there all ranks have to hang."""
    flags = ("--hang-after", "8s", "--on-hang", "kill")
    said = end_of(t, start_breaking(t, "hang", *flags, ranks=t.launcher.hanging), 100)
    assert "no rank did anything for 8.0 s" in said
    if t.launcher.hanging == "1":
        assert said.startswith("h2: ") and "rank 1 is the odd one" in said
    assert re.search(r"hvdocker fetch \S+, then logs/hang-1/summary.txt", said)


def test_every_launcher_host_off(t: Trial) -> None:
    process = start_watched(t, "never")
    power_off(t.hosts[1])
    with t.reaction():
        said = error_text(t.wait_expecting(process, 100))
    assert said.startswith("host h2 stopped answering; rank 1 was there")
    await_no_ranks(t.site, t.hosts[:1])
    power_on(t.hosts[1])
    t.site.up()
    assert_next_job_runs(t)


def test_every_launcher_master_killed(t: Trial) -> None:
    process = start_watched(t, "never")
    job = newest_job(t)
    t.hosts[0].docker("kill", f"hvdocker-{t.site.cluster}-{job}")
    said = end_of(t, process, 100)
    assert "h1" in said and job in said


def test_every_launcher_ctrl_c(t: Trial) -> None:
    process = start_watched(t, "never")
    process.send_signal(signal.SIGINT)
    assert "was stopped on all hosts by Ctrl-C" in end_of(t, process, 130)


def test_every_launcher_stop(t: Trial) -> None:
    process = start_watched(t, "never")
    assert "is stopped" in t.site.run("stop").out
    assert "was stopped by someone else" in end_of(t, process, 103)


def test_every_launcher_controller_killed(t: Trial) -> None:
    """Training goes on, and `logs -f` picks it up."""
    process = start_watched(t, "alone")
    process.send_signal(signal.SIGKILL)
    t.wait(process)
    with t.reaction():
        await_progress(t)
    follower = t.start("logs", "-f")
    open_gate(t, "alone")
    code, out, _ = t.wait(follower)
    assert code == 0 and "alone has come" in out
    assert_no_ranks_left(t)


def test_every_launcher_restarts(t: Trial) -> None:
    """The job begins again where its checkpoint says."""
    process = start_breaking(t, "7", "--restarts", "1", gate="resumed")
    assert process.stdout is not None
    with t.reaction():
        lines = iter(process.stdout.readline, "")
        found = next(found for line in lines if (found := re.match(r"1@h2 +│ begins at step (\d+) of 2 ranks", line)))
    # Rank 1 broke in its fourth step, and rank 0 may have been ended before it saved the third.
    assert int(found[1]) >= 2
    finish_job(t, process, "resumed")
    assert_no_ranks_left(t)
