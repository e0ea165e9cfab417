"""Hosts whose addresses are not as they seem: one machine by two of them, and one that gets another."""

from collections.abc import Iterator

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import GATEWAY, PREFIX, SECOND_PREFIX, SUBNET
from tests.cluster.lab_cluster import LabCluster

OTHER = f"{PREFIX}77"


def second_address(host: LabHost) -> str:
    return SECOND_PREFIX + host.address.rpartition(".")[2]


@pytest.fixture
def pair(lab: Lab) -> Iterator[list[LabHost]]:
    pair = lab.fresh(2)
    yield pair
    pair[1].exec(
        f"ip addr del {OTHER}/24 dev eth0 || exit 0; ip addr add {pair[1].address}/24 dev eth0; "
        f"ip route replace default via {GATEWAY}"
    )


def test_one_machine_by_two_of_its_addresses(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    cli.pins_hosts = False  # the lab pins the first address of a host only
    site = LabCluster.write(lab, cli, pair)
    inventory = yaml.safe_load(site.inventory.read_text())
    inventory["hosts"].append({"name": "again", "host": second_address(pair[0])})
    site.inventory.write_text(yaml.safe_dump(inventory))
    with untouched(*pair):
        result = site.run("up", site.inventory, "--accept-new-host-keys", check=3)
    assert "again: h1 and again are one machine, which the inventory names twice" in result.err
    assert "h2" not in result.err
    assert "h1 and again are one machine" in site.run("doctor", check=3).out


def test_a_host_that_gets_another_address_after_up(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    cli.pins_hosts = False
    site = LabCluster.write(lab, cli, pair, network=SUBNET)
    inventory = yaml.safe_load(site.inventory.read_text())
    inventory["hosts"][1]["host"] = second_address(pair[1])
    site.inventory.write_text(yaml.safe_dump(inventory))
    (site.folder / "code").mkdir()
    (site.folder / "code" / "train.py").write_text("print(1)\n")
    site.run("up", site.inventory, "--accept-new-host-keys")
    pair[1].exec(f"ip addr del {pair[1].address}/24 dev eth0; ip addr add {OTHER}/24 dev eth0")
    words = f"its worker listens on {pair[1].address}, and the host no longer has this address"
    trained = site.run("train", "code/train.py", "-np", "2", check=3)
    assert f"h2: {words}" in trained.err and "hvdocker up" in trained.err
    shown = site.run("status", check=3)
    assert words in shown.out + shown.err
    site.up()
    assert [host["address"] for host in site.status()["hosts"]] == [pair[0].address, OTHER]
    assert site.logins()[("h1", "h2")] == OTHER
    site.down()
    assert cluster_leftovers(site.hosts, "lab") == {}
