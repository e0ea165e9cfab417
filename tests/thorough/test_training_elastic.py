"""Elastic training with all launchers that can: a host that dies costs the steps since the last commit, and is used
again when it comes back; a new host of the inventory joins."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.cluster.cli import REPOSITORY, Cli
from tests.cluster.digits import write_digits
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.training import DATA, SCRIPTS, await_line, await_no_ranks, powered_off, train_detached, wait_for_exit

pytestmark = pytest.mark.training

LAUNCHERS = ("horovod", "torchrun")

COMMIT = 5
DEADLINE_S = 180.0
# They take the same flags and print the same lines.
SCRIPT_OF = {
    "horovod": REPOSITORY / "examples" / "elastic" / "train.py",
    "torch": SCRIPTS / "elastic_torch.py",
}


@pytest.fixture(scope="module")
def elastic(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[LabCluster]:
    """Two hosts and a third that is not in the inventory yet; the script is code/train.py."""
    hosts = lab.fresh(3)
    for host in hosts:
        host.exec(f"rm -rf {DATA} && mkdir {DATA} && chmod 777 {DATA}")
    site = LabCluster.write(lab, desk, hosts[:2], mounts=[f"{DATA}:/data:ro"], **launcher.settings)
    (site.folder / "code").mkdir()
    shutil.copy(SCRIPT_OF[launcher.framework], site.folder / "code" / "train.py")
    write_digits(site.folder / "code" / "digits.npz")
    try:
        site.up()
        yield site
    finally:
        desk.close()
        site.down("--discard")
    assert cluster_leftovers(hosts, site.cluster) == {}


def begin(site: LabCluster, *flags: str, steps: int) -> str:
    words = ["--", "--steps", str(steps), "--commit", str(COMMIT), "--batch", "8", "--pause", "0.05"]
    return train_detached(site, "code/train.py", *flags, "--min-np", "1", *words)


def starts(text: str) -> list[tuple[int, int, int]]:
    """Every (re)start as rank 0 told it: the step that was told last before it, its own first, the ranks."""
    found, told = [], 0
    for line in text.splitlines():
        if step := re.search(r"│ step (\d+), loss", line):
            told = int(step[1])
        elif start := re.search(r"│ from step (\d+) with (\d+) ranks, as rank 0", line):
            found.append((told, int(start[1]), int(start[2])))
    return found


def test_a_host_that_dies_costs_the_steps_since_the_last_commit_and_is_used_again(
    elastic: LabCluster,
) -> None:
    _, h2 = elastic.hosts
    job = begin(elastic, "-np", "2", steps=1500)
    alone = await_line(elastic, job, r"step \d+, loss .*, 2 ranks").end()
    with powered_off(h2):
        alone = await_line(elastic, job, r"step \d+, loss .*, 1 ranks", alone).end()
        assert "h2 left the job" in elastic.run("logs", job).out
    together = await_line(elastic, job, r"step \d+, loss .*, 2 ranks", alone).end()
    follower = elastic.cli.start("logs", "-f", job, cwd=elastic.folder)
    elastic.run("attach", job, timeout=DEADLINE_S)
    code, out, _ = wait_for_exit(follower)
    assert code == 0 and together
    found = starts(out)
    assert [ranks for _, _, ranks in found] == [2, 1, 2]
    assert all(told - COMMIT <= begun for told, begun, _ in found)
    assert re.search(r"│ accuracy 0\.\d+|│ accuracy 1\.0", out)
    await_no_ranks(elastic)


def test_a_new_host_of_the_inventory_joins_with_up(lab: Lab, elastic: LabCluster, launcher: LauncherCase) -> None:
    hosts = lab.ensure(3)
    # It may have three, so it begins with the two that there are.
    job = begin(elastic, "-np", "1", "--max-np", "3", steps=1500)
    await_line(elastic, job, r"step \d+, loss .*, 2 ranks")
    settings = {"mounts": [f"{DATA}:/data:ro"], **launcher.settings}
    lab.write_inventory(elastic.inventory, hosts, cluster=elastic.cluster, **settings)
    elastic.run("up", elastic.inventory)
    assert "nothing to do" in elastic.up().out
    await_line(elastic, job, r"step \d+, loss .*, 3 ranks")
    # The new host's slot is the job's for as long as it runs.
    refused = elastic.run("train", "-np", "1", "--", "true", check=6)
    assert job in refused.err
    elastic.run("attach", job, timeout=DEADLINE_S)
    every = LabCluster(elastic.cli, hosts, elastic.inventory, elastic.cluster)
    await_no_ranks(every)
    assert every.run("train", "-np", "3", "--", "true").code == 0
