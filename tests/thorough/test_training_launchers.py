"""JAX and MPI on two hosts, with packages that are requirements on top of the small image."""

from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.rank_checks import assert_ranks
from tests.cluster.training import await_no_ranks, rank_reports, training_cluster

pytestmark = pytest.mark.training

LAUNCHERS = ("jax", "mpi")
SLOTS = {"h1": 2, "h2": 1}


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[LabCluster]:
    with training_cluster(lab, desk, launcher=launcher, host_slots=SLOTS) as found:
        yield found


@pytest.mark.parametrize(("flags", "is_one_model"), [((), True), (("--alone",), False)], ids=["together", "alone"])
@pytest.mark.parametrize("shares", ["h1:1,h2:1", "h1:2,h2:1"], ids=["even", "uneven"])
def test_ranks_on_two_hosts_train_one_model_together(
    site: LabCluster, launcher: LauncherCase, shares: str, flags: tuple[str, ...], is_one_model: bool
) -> None:
    ranks = rank_reports(site.run("train", launcher.script("weights"), "-H", shares, "--", *flags).out)
    counts = [int(share[-1]) for share in shares.split(",")]
    # The head is the host with the smallest share.
    by_share = sorted(zip(counts, site.hosts, strict=True), key=lambda pair: pair[0])
    hosts = [host for count, host in by_share for _ in range(count)]
    assert_ranks(ranks, hosts, hashes=1 if is_one_model else len(hosts))
    assert all(rank["losses"][-1] < rank["losses"][0] / 2 for rank in ranks)
    await_no_ranks(site)


def test_the_launchers_choice_is_that_of_the_inventory(site: LabCluster, launcher: LauncherCase) -> None:
    shown = site.run("train", launcher.script("weights"), "--dry-run").out
    assert f"{launcher.name} (launcher: in the inventory)" in shown
