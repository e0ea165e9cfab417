"""Login users: root, a member of the docker group, and a user who needs sudo for docker."""

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster

ROOT_NEEDS = {"SETUID", "SETGID", "SYS_CHROOT", "DAC_OVERRIDE"}


@pytest.mark.parametrize(
    ("user", "ids", "capabilities"),
    [("root", "0:0", ROOT_NEEDS), ("trainer", "1000:1000", set()), ("sudoer", "1001:1001", set())],
)
def test_a_cluster_belongs_to_the_user_who_logs_in(
    lab: Lab, cli: Cli, user: str, ids: str, capabilities: set[str]
) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2), user=user)
    site.up()
    assert [host["state"] for host in site.status()["hosts"]] == ["running", "running"]
    assert site.logins() == site.full_mesh()
    for host in site.hosts:
        seen = site.inspect_worker(host)
        assert seen["Config"]["User"] == ids
        assert seen["HostConfig"]["CapDrop"] == ["ALL"]
        assert {name.removeprefix("CAP_") for name in seen["HostConfig"]["CapAdd"] or []} == capabilities
        home = "/root" if user == "root" else f"/home/{user}"
        assert host.exec(f"stat -c '%U %a' {home}/.hvdocker/lab/{host.name}/code") == f"{user} 700\n"
    assert site.up().out.startswith("nothing to do")
    site.down()
    assert cluster_leftovers(site.hosts, "lab") == {}


def test_a_worker_reads_a_data_set_by_a_supplementary_group(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2), mounts=["/srv/dataset:/data:ro"])
    site.up()
    for host in site.hosts:
        assert site.exec_in_worker(host, "cat", "/data/train.csv")[1] == "a row of the data set\n"
    assert "permission denied" not in site.run("doctor").out
    site.down()


def test_a_data_set_that_the_user_may_not_read_is_refused(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts, mounts=["/root:/data:ro"])
    words = "ranks could not read the mount source /root: permission denied"
    with untouched(*hosts):
        assert words in site.run("up", site.inventory, check=3).err
        assert words in site.run("doctor", "-i", site.inventory, check=3).out
