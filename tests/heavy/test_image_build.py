"""The image, built on a host of the inventory by that host's own engine."""

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster


def test_an_image_built_on_a_host(lab: Lab, cli: Cli) -> None:
    (host,) = lab.fresh(1)
    host.attempt(["docker", "rmi", "-f", SMALL_IMAGE])
    site = LabCluster.write(lab, cli, [host])
    built = site.run("image", "build", "--target", "base", "--on", host.name, "-i", site.inventory)
    assert built.out == f"{SMALL_IMAGE}\n"
    label = '{{index .Config.Labels "hvdocker.image"}}'
    assert host.docker("image", "inspect", "--format", label, SMALL_IMAGE).strip() == "1"
    host.docker("rmi", "-f", SMALL_IMAGE)
