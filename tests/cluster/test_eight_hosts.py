"""Eight hosts: up, up again, status, down. Afterwards the hosts are as they were."""

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab
from tests.cluster.lab.wait import side_by_side
from tests.cluster.site import Site
from tests.cluster.traces import traces


def test_eight_hosts_come_up_and_are_given_back_as_they_were(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(8)
    side_by_side(lambda host: host.docker("run", "-d", "--name", "stranger", host.tiny_image()), hosts)
    before = traces(hosts)
    site = Site.write(lab, cli, hosts, cluster="eight")
    assert "eight is up: 8 hosts, 8 slots" in site.up().out
    ids = site.ids()
    assert site.up().out == "nothing to do: eight is up on 8 hosts\n"
    assert site.ids() == ids
    assert [host["state"] for host in site.status()["hosts"]] == ["running"] * 8
    assert traces(hosts) != before
    site.down()
    assert traces(hosts) == before
    strangers = side_by_side(lambda host: host.docker("ps", "--format", "{{.Names}}"), hosts)
    assert strangers == ["stranger\n"] * 8
    assert site.down().out.startswith("nothing to do")
    assert sorted(path.name for path in site.folder.iterdir()) == ["inventory.yaml"]
