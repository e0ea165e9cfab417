"""Hosts whose interfaces have different names, and that share a second network over which they cannot reach
each other, train all the same: the interface is chosen on each host, by its training address."""

from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import GATEWAY
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import rank_reports, training_cluster

pytestmark = pytest.mark.training

RENAME = """
set -e
ip link set "$1" down
ip link set "$1" name "$2"
ip link set "$2" up
ip route replace default via "$3" dev "$2"
"""
# The same name and subnet on both hosts, first in their lists, and nothing behind it.
DEAD_END = """
set -e
ip link del aaa0 2>/dev/null || true
ip link add aaa0 type bridge
ip address add "$1/24" dev aaa0
ip link set aaa0 up
"""


def rename(host: LabHost, old: str, new: str) -> None:
    host.exec(["sh", "-c", RENAME, "sh", old, new, GATEWAY])


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    hosts = lab.fresh(2)
    try:
        rename(hosts[1], "eth0", "net9")
        for number, host in enumerate(hosts, 1):
            host.exec(["sh", "-c", DEAD_END, "sh", f"10.77.7.{number}"])
        with training_cluster(lab, desk) as site:
            yield site
    finally:
        rename(hosts[1], "net9", "eth0")
        for host in hosts:
            host.exec(["ip", "link", "del", "aaa0"])


def test_the_hosts_are_as_they_should_be(site: LabCluster) -> None:
    h1, h2 = site.hosts
    names = [host.exec("ls /sys/class/net").split() for host in site.hosts]
    assert "eth0" in names[0] and "eth0" not in names[1] and "net9" in names[1]
    assert "aaa0" in names[0] and "aaa0" in names[1]
    listed = [line.split()[1] for line in h1.exec("ip -o -4 address show").splitlines()]
    assert listed.index("aaa0") < listed.index("eth0"), "the dead end is to stand first"
    assert h1.attempt(["ping", "-c", "1", "-W", "1", "10.77.7.2"])[0] != 0
    assert h1.exec(["ssh-keyscan", "-T", "2", "10.77.7.2"], check=False) == ""
    assert h1.exec(["ssh-keyscan", "-T", "5", h2.address]) != ""


def test_they_train(site: LabCluster) -> None:
    ranks = rank_reports(site.run("train", "code/weights.py").out)
    assert [(rank["rank"], rank["size"]) for rank in ranks] == [(0, 2), (1, 2)]
    assert [rank["address"] for rank in ranks] == [host.address for host in site.hosts]
    assert ranks[0]["weights"] == ranks[1]["weights"]
    assert ranks[0]["losses"] == ranks[1]["losses"] and ranks[0]["losses"][-1] < ranks[0]["losses"][0]


def test_each_rank_is_told_the_interface_of_its_own_host(site: LabCluster) -> None:
    ranks = rank_reports(site.run("train", "code/report_environment.py").out)
    for rank, interface in zip(ranks, ("eth0", "net9"), strict=True):
        assert rank["environment"]["HOROVOD_GLOO_IFACE"] == interface
        assert rank["environment"]["GLOO_SOCKET_IFNAME"] == interface
        assert rank["environment"]["NCCL_SOCKET_IFNAME"] == f"={interface}"
