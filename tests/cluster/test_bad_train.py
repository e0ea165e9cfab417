"""`train` that cannot begin: said before anything is synced or started."""

from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster


@pytest.fixture(scope="module")
def shared(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    site = LabCluster.write(lab, desk, lab.fresh(2))
    site.up()
    (site.folder / "train.py").write_text("print('never')\n")
    yield site
    site.down()
    assert cluster_leftovers(site.hosts, site.cluster) == {}


@pytest.mark.parametrize(
    ("words", "code", "fragments"),
    [
        (["train.py", "-np", "0"], 2, ["-np should be at least 1, got 0"]),
        (["train.py", "-np", "-3"], 2, ["-np should be at least 1, got -3"]),
        (["train.py", "-np", "two"], 2, ["-np"]),
        (["train.py", "-np", "3", "--launcher", "horovod"], 6, ["3 wanted, 2 free", "h1: 1 of 1", "h2: 1 of 1", "-np"]),
        (["train.py", "-H", "h1:2"], 6, ["2 wanted on h1, 1 free"]),
        (["train.py", "-H", "h9:1"], 2, ["'h9'", "not in the inventory", "h1, h2"]),
        (["nowhere.py"], 2, ["the script nowhere.py is not there"]),
        (["."], 2, ["is a folder"]),
        ([], 2, ["nothing to run"]),
        (["train.py", "--epochs", "3"], 2, ["there is no flag --epochs", "go after --"]),
        (["train.py", "extra"], 2, ["'extra'", "go after --"]),
        (["train.py", "--env", "1X=1"], 2, ["--env", "'1X=1'"]),
        (["train.py", "--env", "NOT_SET_HERE"], 2, ["NOT_SET_HERE"]),
        (["train.py", "--workdir", "/nowhere"], 2, ["/nowhere is not a folder"]),
        (["train.py", "--fusion-threshold-mb"], 2, ["--fusion-threshold-mb needs a value"]),
    ],
)
def test_a_wrong_request_is_refused(shared: LabCluster, words: list[str], code: int, fragments: list[str]) -> None:
    with untouched(*shared.hosts):
        result = shared.run("train", *words, check=code)
    for fragment in fragments:
        assert fragment in result.err


def test_without_a_cluster(cli: Cli) -> None:
    (cli.cwd / "train.py").write_text("")
    result = cli.run("train", "train.py", check=2)
    assert "there is no cluster here" in result.err and "hvdocker up" in result.err


def test_with_a_cluster_that_is_not_up(lab: Lab, shared: LabCluster, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, shared.hosts, cluster="asleep")
    (site.folder / "train.py").write_text("")
    with untouched(*shared.hosts):
        result = site.run("train", "train.py", check=1)
    assert "the cluster asleep is not up" in result.err and "hvdocker up" in result.err


def test_a_worker_that_is_not_running_is_named(shared: LabCluster) -> None:
    shared.hosts[1].docker("kill", shared.worker)
    with untouched(*shared.hosts):
        result = shared.run("train", "train.py", check=3)
    assert "h2: its worker is exited" in result.err and "→ hvdocker up" in result.err
    shared.up()


def test_an_image_without_horovod_says_so(shared: LabCluster) -> None:
    with untouched(*shared.hosts):
        refused = shared.run("train", "train.py", "--launcher", "horovod", check=1).err
    assert "the launcher horovod needs horovod, which the image doc-hvd:base does not have" in refused
    assert "hvdocker up --image tensorflow-cpu" in refused


@pytest.mark.parametrize("verb", ["logs", "stop", "fetch"])
def test_a_job_that_does_not_exist(shared: LabCluster, verb: str) -> None:
    result = shared.run(verb, "nothing-like-it", check=2)
    assert "nothing-like-it" in result.err or "no jobs yet" in result.err
