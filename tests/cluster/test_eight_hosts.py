"""Eight hosts: up, up again, status, down. Afterwards the hosts are as they were."""

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import snapshot
from tests.cluster.lab import Lab
from tests.cluster.lab.wait import in_parallel
from tests.cluster.lab_cluster import LabCluster


def test_eight_hosts_come_up_and_are_given_back_as_they_were(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(8)
    in_parallel(lambda host: host.docker("run", "-d", "--name", "stranger", host.tiny_image()), hosts)
    before = snapshot(hosts)
    site = LabCluster.write(lab, cli, hosts, cluster="eight")
    assert "eight is up: 8 hosts, 8 slots" in site.up().out
    ids = site.worker_ids()
    assert site.up().out == "nothing to do: eight is up on 8 hosts\n"
    assert site.worker_ids() == ids
    assert [host["state"] for host in site.status()["hosts"]] == ["running"] * 8
    assert snapshot(hosts) != before
    site.down()
    assert snapshot(hosts) == before
    strangers = in_parallel(lambda host: host.docker("ps", "--format", "{{.Names}}"), hosts)
    assert strangers == ["stranger\n"] * 8
    assert site.down().out.startswith("nothing to do")
    assert sorted(path.name for path in site.folder.iterdir()) == ["inventory.yaml"]
