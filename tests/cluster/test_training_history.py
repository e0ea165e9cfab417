"""Looking back at jobs: their output by rank, host and time, their end, and all of it with hosts off."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.terminal import Terminal
from tests.cluster.training import await_no_ranks, await_ranks, open_gate, powered_off, train_detached, wait_for_exit

pytestmark = pytest.mark.training

LAUNCHERS: tuple[str, ...] = ("torch",)  # the others: tests/thorough


def history(site: LabCluster, check: int = 0) -> dict[str, dict[str, Any]]:
    found = json.loads(site.run("jobs", "-i", site.inventory, "--json", check=check).out)
    return {job["job"]: job for job in found["jobs"]}


def at_home(site: LabCluster, job: str) -> Path:
    return site.folder / ".hvdocker" / "jobs" / job


@pytest.fixture(scope="module")
def ended(training: LabCluster, launcher: LauncherCase) -> str:
    """A job of which rank 1, on h2, failed with code 3."""
    training.run("train", *launcher.flags, "code/gate.py", "--", "never", "1", "3", check=100)
    return str(training.status()["jobs"][0]["job"])


def test_lines_by_rank_host_and_pattern(training: LabCluster, ended: str) -> None:
    words = {"1@h2 │ first words", "1@h2 │ last words before the end"}
    for flags in (("--rank", "1"), ("--host", "h2"), ("--rank", "1", "--rank", "7", "--host", "h2")):
        assert set(training.run("logs", ended, *flags).out.splitlines()) == words
    assert training.run("logs", ended, "--regex", "^last .* end$").out == "1@h2 │ last words before the end\n"
    assert training.run("logs", ended, "--rank", "0", "--host", "h2").out == ""
    assert training.run("logs", ended, "-n", "1", "--rank", "1", "--regex", "first").out == "1@h2 │ first words\n"
    assert "no regular expression" in training.run("logs", ended, "--regex", "(", check=2).err


def test_progress_bars_are_seen_live_and_no_line_of_a_chatty_job_is_lost(training: LabCluster) -> None:
    lines = 20_000
    terminal = Terminal(training.cli, "train", "code/chatter.py", "--", "bar", str(lines), cwd=training.folder)
    for rank, host in enumerate(training.hosts):
        # The job waits for the gate: these states are seen while it runs.
        terminal.wait_for(f"{rank}@{host.name} │ state", times=3)
    open_gate(training, "bar")
    assert terminal.end() == 0
    for rank, host in enumerate(training.hosts):
        assert terminal.screen.count(f"{rank}@{host.name} │ the final state\r\n") == 1
        assert terminal.screen.count(f"line {lines - 1} of {rank}\r\n") == 1
    (log,) = training.folder.glob(".hvdocker/jobs/chatter-*/logs/output.log")
    found = sorted(line.partition(":")[2] for line in log.read_text().splitlines() if ":line " in line)
    assert found == sorted(f"line {number} of {rank}" for number in range(lines) for rank in (0, 1))


def test_lines_by_time(training: LabCluster, ended: str) -> None:
    whole = training.run("logs", ended).out
    assert training.run("logs", ended, "--since", "1h").out == whole
    assert training.run("logs", ended, "--since", "2024-05-04T12:30:00Z", "-f").out == whole
    assert training.run("logs", ended, "--since", "2036-05-04T12:30:00Z").out == ""
    assert "--since should be" in training.run("logs", "--since", "soon", check=2).err


def test_who_attaches_late_learns_how_it_ended(training: LabCluster, ended: str) -> None:
    result = training.run("attach", ended, check=100)
    assert result.out == "" and "h2: rank 1 failed with exit code 3" in result.err
    assert f"{ended} failed: 2 ranks on 2 hosts" in result.err and "last words before the end" in result.err


@pytest.mark.parametrize(("does", "code"), [("open", 0), ("stop", 103)])
def test_who_attaches_sees_the_end_and_has_its_exit_code(training: LabCluster, does: str, code: int) -> None:
    job = train_detached(training, "code/gate.py", "--", f"attached-{does}")
    await_ranks(training, f"gate.py attached-{does}")
    watching = training.cli.start("attach", cwd=training.folder)
    following = training.cli.start("logs", "-f", "-n", "1", "--rank", "1", job, cwd=training.folder)
    assert watching.stdout is not None and f"waiting for attached-{does}" in watching.stdout.readline()
    assert following.stdout is not None
    assert following.stdout.readline() == f"1@h2 │ waiting for attached-{does}\n"
    running = history(training)[job]
    assert (running["state"], running["exit_code"], running["np"]) == ("running", None, 2)
    if does == "open":
        open_gate(training, f"attached-{does}")
    else:
        training.run("stop", job)
    ended_with, out, err = wait_for_exit(watching)
    assert ended_with == code and job in err
    _, followed, _ = wait_for_exit(following)
    if does == "open":
        assert {line for line in out.splitlines() if "has come" in line} == {
            "0@h1 │ attached-open has come",
            "1@h2 │ attached-open has come",
        }
        assert followed == "1@h2 │ attached-open has come\n"
    await_no_ranks(training)


def test_what_a_host_that_is_off_has_is_fetched_when_it_is_back(training: LabCluster) -> None:
    open_gate(training, "fetched")
    training.run("train", "code/write_and_wait.py", "--", "fetched")
    job = str(training.status()["jobs"][0]["job"])
    with powered_off(training.hosts[1]):
        result = training.run("fetch", job, check=4)
        assert "h2: " in result.err and result.out.strip() == str(at_home(training, job))
        assert [path.name for path in (at_home(training, job) / "out").iterdir()] == ["rank-0.txt"]
        assert json.loads((at_home(training, job) / "fetched.json").read_text())["hosts"] == ["h1"]
        unnamed = training.run("fetch", check=4)
        assert "name one of these" in unnamed.err and job in unnamed.err
    training.run("fetch", job)
    assert len(list((at_home(training, job) / "out").iterdir())) == 2
    assert json.loads((at_home(training, job) / "fetched.json").read_text())["hosts"] == ["h1", "h2"]


def test_a_second_laptop_sees_the_same_live_jobs(training: LabCluster, tmp_path: Path) -> None:
    elsewhere = tmp_path / "inventory.yaml"
    elsewhere.write_text(training.inventory.read_text())
    result = training.cli.run("jobs", "--json", "-i", elsewhere, cwd=tmp_path, check=0)
    there = {job["job"]: job for job in json.loads(result.out)["jobs"]}
    here = history(training)
    keys = ("state", "owner", "np", "placement", "host", "created")
    assert {job: [there[job][key] for key in keys] for job in there} == {
        job: [here[job][key] for key in keys] for job in here if here[job]["host"]
    }


def test_jobs_that_came_home_outlive_their_cluster(training: LabCluster, ended: str) -> None:
    before = training.run("logs", ended).out
    training.down()
    found = history(training)[ended]
    assert (found["state"], found["exit_code"], found["host"]) == ("failed", 1, None)
    assert (found["placement"], found["home"]) == ({"h1": 1, "h2": 1}, str(at_home(training, ended)))
    assert found["owner"] and found["seconds"] > 0
    result = training.run("logs", ended, "-i", training.inventory)
    assert result.out == before and "the copy at home" in result.err
    assert training.run("logs", ended, "--rank", "1", "-n", "1", "-i", training.inventory).out.startswith("1@h2 │ ")
    attached = training.run("attach", ended, "-i", training.inventory, check=100)
    assert "h2: rank 1 failed with exit code 3" in attached.err
    training.inventory.rename(training.folder / "away.yaml")
    try:
        alone = training.run("jobs")
        assert ended in alone.out and ended in training.run("logs", ended[:-1], "-n", "0", check=0).err
    finally:
        (training.folder / "away.yaml").rename(training.inventory)
