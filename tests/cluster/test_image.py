"""The image, built on a host of the inventory."""

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster


def test_a_host_to_build_on_has_to_be_in_the_inventory(lab: Lab, cli: Cli) -> None:
    (host,) = lab.fresh(1)
    site = LabCluster.write(lab, cli, [host])
    result = site.run("image", "build", "--on", "nowhere", "-i", site.inventory, check=2)
    assert "'nowhere' is not in the inventory" in result.err and host.name in result.err
