"""Elastic training: a host that dies costs the steps since the last commit, and is used again when it comes back.
tests/thorough does the same with torchrun, and takes in a new host with both."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.cli import REPOSITORY, Cli
from tests.cluster.digits import write_digits
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.training import DATA, SCRIPTS, await_no_ranks, train_detached, wait_for_exit

pytestmark = pytest.mark.training

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


@contextmanager
def powered_off(host: LabHost) -> Iterator[None]:
    host.kill()
    try:
        yield
    finally:
        host.start()


def begin(site: LabCluster, *flags: str, steps: int) -> str:
    words = ["--", "--steps", str(steps), "--commit", str(COMMIT), "--batch", "8", "--pause", "0.05"]
    return train_detached(site, "code/train.py", *flags, "--min-np", "1", *words)


def said(site: LabCluster, job: str) -> str:
    return site.run("logs", job).out


def await_line(site: LabCluster, job: str, pattern: str, after: int = 0) -> "re.Match[str]":
    """The first match in the job's output from `after` on."""

    def look() -> "re.Match[str] | None":
        return re.compile(pattern).search(said(site, job), after)

    return until(look, f"{job} says {pattern}", DEADLINE_S, pause_s=1.0)


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
        assert "h2 left the job" in said(elastic, job)
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
