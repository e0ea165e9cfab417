"""`run` has a cluster of its own and gives it back, however it ends; `gc` does so for one that was killed."""

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.cli import Cli, Result
from tests.cluster.host_snapshot import untouched
from tests.cluster.lab import Lab
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import DEADLINE_S, await_ranks, training_cluster, wait_for_exit

pytestmark = pytest.mark.training

# One rank on each host, beside the cluster that is up and perhaps another run.
SPREAD = ("-np", "2", "--strategy", "spread")
OURS = ("docker", "ps", "-a", "--filter", "label=hvdocker.run")


@pytest.fixture(scope="module")
def training(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    """Three GPUs (stand-ins) on each of two hosts; a cluster that is up holds one of each."""
    with training_cluster(lab, desk, gpus=3, asked=("-H", "h1:1,h2:1")) as site:
        yield site


@pytest.fixture(autouse=True)
def the_other_cluster_is_not_touched(training: LabCluster) -> Iterator[None]:
    """Whatever a run does, the cluster that `up` made stays as it is, and the current one."""
    before, pointer = training.worker_ids(), training.folder / ".hvdocker" / "current.json"
    current = pointer.read_text()
    yield
    assert (training.worker_ids(), pointer.read_text()) == (before, current)
    assert {host["state"] for host in training.status()["hosts"]} == {"running"}
    gpus = json.loads(training.run("gpus", "--json").out)
    assert (gpus["free"], gpus["free_in_cluster"]) == (4, 2)


def clusters(site: LabCluster) -> set[str]:
    """Those of runs, on any host."""
    listed = [host.exec([*OURS, "--format", '{{.Label "hvdocker.cluster"}}']).split() for host in site.hosts]
    return {cluster for there in listed for cluster in there}


def start(site: LabCluster, gate: str) -> tuple["subprocess.Popen[str]", LabCluster]:
    """A run whose ranks wait on both hosts, and its own cluster."""
    others = clusters(site)
    process = site.cli.start("run", site.inventory, "code/write_and_wait.py", *SPREAD, "--", gate, cwd=site.folder)
    new = until(lambda: clusters(site) - others or None, "the run has a cluster", DEADLINE_S)
    own = replace(site, cluster=new.pop())
    # Its output is written by the time its child runs.
    await_ranks(own, "sleep 600")
    return process, own


def outputs(site: LabCluster, said: str) -> dict[str, str]:
    """What came home of the job that was named."""
    job = re.search(r"\b(?:write-and-wait|outputs)-[a-z2-7]{4}\b", said)
    assert job, said
    folder: Path = site.folder / ".hvdocker" / "jobs" / job[0]
    assert (folder / "logs" / "output.log").is_file()
    return {path.name: path.read_text() for path in (folder / "out").iterdir() if path.is_file()}


BOTH = {f"rank-{rank}.txt": f"rank {rank} was here\n" for rank in (0, 1)}


def pasted(site: LabCluster, err: str, verb: str, *more: str, check: int = 0) -> Result:
    """The command that was printed, as a person pastes it."""
    found = re.search(rf"hvdocker ({verb} [^;\n]*--cluster [a-z0-9-]+)", err)
    assert found, err
    return site.run(*shlex.split(found[1]), *more, check=check)


def test_success_leaves_outputs_at_home_and_nothing_on_the_hosts(training: LabCluster) -> None:
    with untouched(*training.hosts):
        shown = training.run("run", training.inventory, "code/outputs.py", *SPREAD, "--dry-run").out
        assert "create hvdocker-lab-" in shown and re.search(r"ranks +h1 +1 slot", shown)
        done = training.run("run", "code/outputs.py", *SPREAD, "-i", training.inventory)
    assert done.out.count("│ written") == 2
    assert re.search(r"outputs-\w+, 2 ranks, .* s, outputs in .*; lab-\w{4} is given back", done.err)
    assert outputs(training, done.err)["equal.txt"] == "the same everywhere\n"


def test_a_failing_script_ends_with_100_and_its_cluster_can_be_kept(training: LabCluster) -> None:
    failing = ("run", training.inventory, "code/write_and_wait.py", *SPREAD, "--", "never", "1", "3")
    with untouched(*training.hosts):
        failed = training.run(*failing, check=100)
        assert "h2: rank 1 failed with exit code 3" in failed.err and "all output: /" in failed.err
        assert outputs(training, failed.err) == BOTH

        kept = training.run(*failing[:3], "--keep", "failed", *failing[3:], check=100)
        assert len(clusters(training)) == 1 and "is still there" in kept.err
        assert outputs(training, kept.err) == BOTH
        assert "last words before the end" in pasted(training, kept.err, "logs -f").out
        assert "is down: 2 hosts given back" in pasted(training, kept.err, "down").out


def test_ctrl_c_brings_outputs_home_and_gives_back(training: LabCluster) -> None:
    with untouched(*training.hosts):
        process, _ = start(training, "interrupted-run")
        process.send_signal(signal.SIGINT)
        code, _, err = wait_for_exit(process)
    assert code == 130 and "was stopped on all hosts by Ctrl-C" in err
    assert outputs(training, err) == BOTH


def test_ctrl_c_twice_ends_stubborn_ranks_at_once_and_gives_back(training: LabCluster) -> None:
    with untouched(*training.hosts):
        process, _ = start(training, "stubborn-run")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "stopping every rank" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        code, _, err = wait_for_exit(process)
    assert code == 130 and "was stopped on all hosts by Ctrl-C" in err
    assert outputs(training, err) == BOTH


def test_gc_takes_a_killed_run_and_leftovers_and_leaves_the_living_and_others(training: LabCluster) -> None:
    first, second = training.hosts
    first.tiny_image()
    with untouched(*training.hosts):
        dead, of_dead = start(training, "killed-run")
        alive, of_alive = start(training, "living-run")
        dead.send_signal(signal.SIGKILL)
        wait_for_exit(dead)
        owner = first.docker("inspect", "-f", '{{index .Config.Labels "hvdocker.owner"}}', training.worker)
        ours = ["--label", f"hvdocker.owner={owner.strip()}", "--label", "hvdocker.cluster=lab"]
        create = ["docker", "create", "--name"]
        first.exec([*create, "unborn", *ours, "--label", "hvdocker.role=master", "tiny:lab"])
        first.exec([*create, "foreign", "--label", "hvdocker.role=master", "tiny:lab"])
        second.exec("mkdir -m 700 /var/tmp/hvdocker-feed-old", user="trainer")
        second.exec(["touch", "-d", "2 hours ago", "/var/tmp/hvdocker-feed-old"])

        shown = training.run("gc", "--dry-run").out
        assert f"remove hvdocker-{of_dead.cluster}-worker" in shown and "which is running" in shown
        assert "remove unborn (a job that never started)" in shown
        assert "remove /var/tmp/hvdocker-feed-old" in shown
        assert of_alive.cluster not in shown and "foreign" not in shown
        assert "still trains" in training.run("gc", check=2).err
        others = training.run("gc", "-y", env={"HVDOCKER_OWNER": "somebody-else"}).err
        assert f"left alone: {of_dead.cluster}, a dead run of" in others
        assert clusters(training) == {of_dead.cluster, of_alive.cluster}

        given_back = training.run("gc", "-y")
        assert f"{of_dead.cluster} is given back" in given_back.out
        assert outputs(training, given_back.err) == BOTH
        assert clusters(training) == {of_alive.cluster}
        await_ranks(of_alive, "sleep 600")
        assert "unborn" not in first.docker("ps", "-a") and "foreign" in first.docker("ps", "-a")
        assert training.run("gc", "-y").out.startswith("nothing to do")

        alive.send_signal(signal.SIGTERM)
        code, _, err = wait_for_exit(alive)
        assert code == 130 and outputs(training, err) == BOTH
        first.docker("rm", "foreign")


def test_what_the_doctor_finds_bad_stops_it_before_anything_is_made(training: LabCluster) -> None:
    second = training.hosts[1]
    with untouched(*training.hosts):
        second.exec(["chmod", "500", "/home/trainer"])
        try:
            refused = training.run("run", training.inventory, "code/outputs.py", check=3).err
        finally:
            second.exec(["chmod", "755", "/home/trainer"])
        assert "h2: home-disk: /home/trainer is not writable" in refused and "sudo chown" in refused
        assert "is not there" in training.run("run", training.inventory, "code/missing.py", check=2).err
