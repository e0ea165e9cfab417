"""`down`: twice is fine, and a host that cannot be reached is named now and cleaned later."""

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster


def test_down_twice_is_fine(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2))
    site.up()
    assert site.down().out.startswith("lab is down: 2 hosts")
    assert cluster_leftovers(site.hosts, "lab") == {}
    assert site.down().out.startswith("nothing to do")


def test_a_host_that_cannot_be_reached_is_named_and_cleaned_when_it_is_back(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(3))
    site.up()
    lost = site.hosts[1]
    lost.stop_sshd()
    result = site.run("down", check=4)
    assert "h2" in result.err and "refuses connections" in result.err
    assert "h1" not in result.err.split("error:")[1] and "h3" not in result.err.split("error:")[1]
    assert set(cluster_leftovers(site.hosts, "lab")) == {"h2"}
    lost.start_sshd()
    site.run("down", check=0)
    assert cluster_leftovers(site.hosts, "lab") == {}


def test_down_leaves_other_clusters_alone(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    one, other = (LabCluster.write(lab, cli, hosts, cluster=name) for name in ("one", "other"))
    one.up()
    other.up()
    kept = other.worker_ids()
    one.down()
    assert cluster_leftovers(hosts, "one") == {}
    assert other.worker_ids() == kept and other.logins() == other.full_mesh()
    other.down()


def test_a_dry_run_of_down_removes_nothing(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(1))
    site.up()
    before = site.worker_ids()
    assert "remove hvdocker-lab-worker" in site.run("down", "--dry-run").out
    assert site.worker_ids() == before and site.inspect_worker(site.hosts[0])["State"]["Running"] is True
    site.down()
