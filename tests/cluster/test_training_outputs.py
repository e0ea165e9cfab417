"""Jobs that run on their own: their output, their files, their slots, and what `down` does about them."""

import json
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import await_no_ranks, await_ranks, open_gate, train_detached

pytestmark = pytest.mark.training


@pytest.fixture
def site(training: LabCluster) -> LabCluster:
    """Up, whatever the test before did to it."""
    training.up()
    return training


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


WRITTEN = {
    "out/equal.txt": "the same everywhere\n",
    "out/differs.txt.h1": "by rank 0\n",
    "out/differs.txt.h2": "by rank 1\n",
    "out/deep/er/only-0.txt": "0",
    "out/deep/er/only-1.txt": "1",
    "out/through-the-link.txt": "there\n",
}


def test_a_detached_job_is_followed_and_its_outputs_fetched_into_one_folder(site: LabCluster, tmp_path: Path) -> None:
    job = train_detached(site, "code/outputs.py")
    assert job.startswith("outputs-")
    out = site.run("logs", "-f", job).out
    assert "0@h1 │ written" in out and "1@h2 │ written" in out
    assert site.run("logs", "outputs").out == out
    result = site.run("fetch", job, tmp_path / "home")
    assert result.out.strip() == str(tmp_path / "home")
    fetched = files(tmp_path / "home")
    assert {name: text for name, text in fetched.items() if name.startswith("out/")} == WRITTEN
    clashes = [line for line in result.err.splitlines() if "differs between hosts" in line]
    assert len(clashes) == 1 and "out/differs.txt" in clashes[0]
    assert [json.loads(fetched[f"logs/rank-{rank}.json"])["code"] for rank in (0, 1)] == [0, 0]
    assert "written" in fetched["logs/output.log"]


def test_a_job_holds_its_slots(site: LabCluster) -> None:
    job = train_detached(site, "code/gate.py", "--", "held")
    await_ranks(site, "gate.py held")
    result = site.run("train", "code/report_environment.py", "-np", "1", check=6)
    assert "1 wanted, 0 free: 1 on h1 is held by " in result.err
    assert f"h1: 0 of 1 free, 1 held by {job}" in result.err and f"h2: 0 of 1 free, 1 held by {job}" in result.err
    open_gate(site, "held")
    site.run("logs", "-f", job)
    await_no_ranks(site)
    site.run("train", "--workdir", "code", "--", "true")


def test_down_asks_about_a_running_job_and_brings_its_outputs_home(site: LabCluster) -> None:
    before = train_detached(site, "code/outputs.py")
    site.run("logs", "-f", before)
    running = train_detached(site, "code/gate.py", "--", "never")
    await_ranks(site, "gate.py never")
    refused = site.run("down", check=2)
    assert f"job {running} is running" in refused.err and "-y" in refused.err
    assert site.status()["jobs"][0]["state"] == "running"
    await_ranks(site, "gate.py never")
    result = site.run("down", "-y")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
    for job in (before, running):
        assert job in result.err
    home = files(site.folder / ".hvdocker" / "jobs" / before)
    assert {name: text for name, text in home.items() if name.startswith("out/")} == WRITTEN
    assert "waiting for never" in (site.folder / ".hvdocker" / "jobs" / running / "logs" / "output.log").read_text()


def test_down_leaves_fetched_outputs_alone_and_discards_when_told(site: LabCluster) -> None:
    fetched = train_detached(site, "code/outputs.py")
    site.run("logs", "-f", fetched)
    site.run("fetch", fetched)
    changed = site.folder / ".hvdocker" / "jobs" / fetched / "out" / "equal.txt"
    changed.write_text("edited at home\n")
    discarded = train_detached(site, "code/outputs.py")
    site.run("logs", "-f", discarded)
    site.run("down", "--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
    assert changed.read_text() == "edited at home\n"
    assert not (site.folder / ".hvdocker" / "jobs" / discarded / "out").exists()


def test_any_laptop_can_follow_stop_and_fetch(lab: Lab, site: LabCluster, cli: Cli) -> None:
    job = train_detached(site, "code/gate.py", "--", "elsewhere")
    await_ranks(site, "gate.py elsewhere")
    there = LabCluster.write(lab, cli, site.hosts, cluster=site.cluster)
    assert there.status()["jobs"][0]["job"] == job
    assert "waiting for elsewhere" in there.run("logs", job).out
    there.run("stop", job)
    await_no_ranks(site)
    there.run("fetch", job, "mine")
    assert "waiting for elsewhere" in (there.folder / "mine" / "logs" / "output.log").read_text()
