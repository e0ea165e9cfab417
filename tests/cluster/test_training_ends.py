"""However a job ends, no rank outlives it on any host, and the workers stay for the next."""

import json
import select
import signal
import subprocess

import pytest

from hvdocker.locks.holder import LOCK_DIR
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import (
    DEADLINE_S,
    await_no_ranks,
    await_ranks,
    job_processes,
    open_gate,
    rank_reports,
    train_detached,
    wait_for_exit,
    workers_run,
)

pytestmark = pytest.mark.training


def start(site: LabCluster, gate: str) -> "subprocess.Popen[str]":
    """A watching `train` whose ranks run on both hosts, behind a gate."""
    process = site.cli.start("train", "code/gate.py", "--", gate, cwd=site.folder)
    await_ranks(site, f"gate.py {gate}")
    return process


def ranks_left(site: LabCluster) -> list[str]:
    """What runs of write_and_wait.py, on any host, at this very moment."""
    return [line for host in site.hosts for line in job_processes(site, host) if "write_and_wait.py" in line]


def newest(site: LabCluster) -> dict[str, object]:
    return dict(site.status()["jobs"][0])


def test_a_failing_rank_ends_the_job_and_is_what_the_error_names(training: LabCluster) -> None:
    result = training.run("train", "code/gate.py", "--", "never", "1", "3", check=100)
    told_first, *details = result.err.partition("error: ")[2].splitlines()
    assert told_first == "h2: rank 1 failed with exit code 3"
    # One line is stdout's, the other stderr's: over a link their order is nobody's promise.
    assert {line.strip() for line in details[:2]} == {"first words", "last words before the end"}
    assert "hvdocker logs gate-" in result.err
    await_no_ranks(training)
    assert workers_run(training)


def test_ctrl_c_ends_every_rank_and_the_next_job_runs(training: LabCluster) -> None:
    process = start(training, "interrupted")
    process.send_signal(signal.SIGINT)
    code, _, err = wait_for_exit(process)
    assert code == 130 and "Ctrl-C" in err
    await_no_ranks(training)
    assert workers_run(training)
    assert newest(training)["state"] != "running"
    assert [rank["rank"] for rank in rank_reports(training.run("train", "code/report_environment.py").out)] == [0, 1]


def test_ctrl_c_twice_ends_stubborn_ranks_on_every_host_at_once(training: LabCluster) -> None:
    """No rank is left when the program is done: none has the rest of its grace."""
    process = training.cli.start("train", "code/write_and_wait.py", "--", "stubborn-train", cwd=training.folder)
    await_ranks(training, "write_and_wait.py stubborn-train")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "stopping every rank" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    code, _, err = wait_for_exit(process)
    left = ranks_left(training)
    assert code == 130 and "was stopped on all hosts by Ctrl-C" in err
    assert left == []
    await_no_ranks(training)
    assert workers_run(training)


def test_a_stop_from_elsewhere_ends_the_watching_train_with_103(training: LabCluster) -> None:
    process = start(training, "stopped")
    # A job holds its slots by its labels; the lock was held only until it had started.
    assert [host.attempt(["ls", LOCK_DIR])[0] for host in training.hosts] == [2, 2]
    refused = training.run("stop", env={"HVDOCKER_OWNER": "somebody-else"}, check=1)
    assert "belongs to" in refused.err and "--force" in refused.err
    assert "is stopped" in training.run("stop").out
    code, _, err = wait_for_exit(process)
    assert code == 103 and "was stopped by someone else" in err
    await_no_ranks(training)
    assert workers_run(training)
    assert "had ended already" in training.run("stop").out


def test_a_stop_is_done_when_ranks_elsewhere_have_written_their_last(training: LabCluster) -> None:
    """The user who stops a job fetches its outputs next, and counts its slots as free."""
    job = train_detached(training, "code/write_and_wait.py", "--", "careful")
    await_ranks(training, "sleep 600")
    training.run("stop", job)
    assert ranks_left(training) == []
    training.run("fetch", job)
    farewell = training.folder / ".hvdocker" / "jobs" / job / "out" / "farewell-1.txt"
    assert farewell.read_text() == "".join(f"{number}\n" for number in range(30))


def test_a_down_from_elsewhere_ends_all_who_watch_with_103(training: LabCluster) -> None:
    """Whether they still see how it ended, or only that its container is gone."""
    watching = [start(training, "taken-down")]
    for words in (("attach",), ("logs", "-f")):
        process = training.cli.start(*words, cwd=training.folder)
        assert process.stdout is not None
        assert any("waiting for taken-down" in line for line in iter(process.stdout.readline, ""))
        watching.append(process)
    training.down("--discard")
    try:
        train, attach, logs = (wait_for_exit(process) for process in watching)
        for code, _, err in (train, attach):
            assert code == 103 and "by someone else" in err
        # It only tells lines: an end that it has seen is a good one.
        assert logs[0] in (0, 103) and "journalctl" not in logs[2]
    finally:
        training.up()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL], ids=["hang-up", "kill"])
def test_a_job_outlives_the_program_that_started_it(training: LabCluster, number: signal.Signals) -> None:
    gate = f"after-{number.name}"
    process = start(training, gate)
    process.send_signal(number)
    wait_for_exit(process)
    assert newest(training)["state"] == "running"
    await_ranks(training, f"gate.py {gate}")
    follower = training.cli.start("logs", "-f", cwd=training.folder)
    open_gate(training, gate)
    code, out, _ = wait_for_exit(follower)
    assert code == 0
    for host in ("0@h1", "1@h2"):
        assert f"{host} │ waiting for {gate}" in out and f"{host} │ {gate} has come" in out
    await_no_ranks(training)


def test_ctrl_c_in_logs_only_leaves(training: LabCluster) -> None:
    job = train_detached(training, "code/gate.py", "--", "left")
    await_ranks(training, "gate.py left")
    follower = training.cli.start("logs", "-f", job, cwd=training.folder)
    assert follower.stdout is not None and select.select([follower.stdout], [], [], DEADLINE_S)[0]
    assert "waiting for left" in follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    wait_for_exit(follower)
    assert newest(training) == {**newest(training), "job": job, "state": "running"}
    open_gate(training, "left")
    assert "left has come" in training.run("logs", "-f", job).out
    await_no_ranks(training)


def test_the_doctor_looks_while_a_job_runs_and_the_job_goes_on(training: LabCluster) -> None:
    job = train_detached(training, "code/gate.py", "--", "examined")
    await_ranks(training, "gate.py examined")
    found = json.loads(training.run("doctor", "--json").out)
    across = {check["check"]: check for check in found["across"]}
    assert {across[f"same {name}"]["mark"] for name in ("image", "code", "tensorflow", "horovod")} == {"good"}
    assert newest(training) == {**newest(training), "job": job, "state": "running"}
    open_gate(training, "examined")
    assert "examined has come" in training.run("logs", "-f", job).out
    await_no_ranks(training)


def test_a_command_that_is_not_there_is_named(training: LabCluster) -> None:
    result = training.run("train", "--workdir", "code", "--", "no-such-command", check=100)
    assert "no-such-command" in result.err and "127" in result.err
    await_no_ranks(training)
