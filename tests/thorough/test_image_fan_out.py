"""Image fan-out: if four or more hosts lack an image, they forward it to each other."""

import signal
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.images import MIB, BridgeTraffic, Images, assert_no_shipment_leftovers, image_ids, images
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import in_parallel, until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.test_one_connection import logins

IMAGE = "fan-out:test"


@pytest.fixture
def shop(lab: Lab) -> Iterator[Images]:
    with images(lab) as made:
        yield made


def parts(hosts: list[LabHost]) -> list[str]:
    """Those of all hosts."""
    listed = in_parallel(lambda host: host.docker("images", "-q", "hvdocker-part"), hosts)
    return " ".join(listed).split()


def test_eight_hosts_cost_this_machine_one_image(lab: Lab, cli: Cli, shop: Images) -> None:
    hosts = lab.fresh(8)
    wanted = shop.build(IMAGE, 40 * MIB, 1000, 30 * MIB)
    site = LabCluster.write(lab, cli, hosts)
    uplink = BridgeTraffic.of(lab)
    before = uplink.sent_bytes()
    site.run("image", "push", IMAGE, "-i", site.inventory)
    assert uplink.sent_bytes() - before < 1.3 * 70 * MIB
    assert image_ids(hosts, IMAGE) == {host.name: wanted for host in hosts}
    assert_no_shipment_leftovers(hosts)


def test_a_large_layer_goes_to_the_first_host_through_ssh(lab: Lab, cli: Cli, shop: Images) -> None:
    """That host alone is logged in to a second time."""
    hosts = lab.fresh(4)
    wanted = shop.build(IMAGE, 200 * MIB, 1000)
    site = LabCluster.write(lab, cli, hosts)
    before = sum(map(logins, hosts))
    site.run("image", "push", IMAGE, "-i", site.inventory)
    assert image_ids(hosts, IMAGE) == {host.name: wanted for host in hosts}
    until(lambda: sum(map(logins, hosts)) == before + 5 or None, "the hosts tell of five logins", 10)
    assert_no_shipment_leftovers(hosts)


@pytest.mark.parametrize("user", ["root", "sudoer"])
def test_any_ssh_user(lab: Lab, cli: Cli, shop: Images, user: str) -> None:
    hosts = lab.fresh(4)
    wanted = shop.build(IMAGE, 40 * MIB)
    site = LabCluster.write(lab, cli, hosts, user=user)
    uplink = BridgeTraffic.of(lab)
    before = uplink.sent_bytes()
    site.run("image", "push", IMAGE, "-i", site.inventory)
    assert uplink.sent_bytes() - before < 1.3 * 40 * MIB
    assert image_ids(hosts, IMAGE) == {host.name: wanted for host in hosts}
    assert_no_shipment_leftovers(hosts)


@pytest.mark.parametrize("answer", ["REJECT --reject-with tcp-reset", "DROP"])
def test_hosts_that_do_not_reach_each_other_get_it_from_here(lab: Lab, cli: Cli, shop: Images, answer: str) -> None:
    """Eight, so that some have several hosts above them to try."""
    hosts = lab.fresh(8)
    wanted = shop.build(IMAGE, 40 * MIB)
    site = LabCluster.write(lab, cli, hosts)
    rule = f"iptables -w -A INPUT -p tcp --syn --dport 20000:60999 -j {answer}"
    in_parallel(lambda host: host.exec(rule), hosts)
    site.run("image", "push", IMAGE, "-i", site.inventory)
    assert image_ids(hosts, IMAGE) == {host.name: wanted for host in hosts}
    assert_no_shipment_leftovers(hosts)


def test_a_host_without_the_tools_gets_it_from_here(lab: Lab, cli: Cli, shop: Images) -> None:
    """No ssh client, no docker CLI: the engine's own API is enough."""
    hosts = lab.fresh(5)
    wanted = shop.build(IMAGE, 40 * MIB)
    site = LabCluster.write(lab, cli, hosts)
    hosts[2].exec("chmod 0 /usr/bin/ssh /usr/bin/docker")
    try:
        site.run("image", "push", IMAGE, "-i", site.inventory)
    finally:
        hosts[2].exec("chmod 755 /usr/bin/ssh /usr/bin/docker")
    assert image_ids(hosts, IMAGE) == {host.name: wanted for host in hosts}
    assert_no_shipment_leftovers(hosts)


def test_ctrl_c_leaves_nothing_behind(lab: Lab, cli: Cli, shop: Images) -> None:
    """Neither folders and processes, nor parts of the image that engines were just busy with."""
    hosts = lab.fresh(4)
    shop.build(IMAGE, *[40 * MIB] * 5)
    site = LabCluster.write(lab, cli, hosts)
    pushing = cli.start("image", "push", IMAGE, "-i", site.inventory)
    until(lambda: parts(hosts) or None, "the first part is loaded", 60)
    pushing.send_signal(signal.SIGINT)
    _, said = pushing.communicate(timeout=120)
    assert pushing.returncode == 130, said
    assert parts(hosts) == []
    assert_no_shipment_leftovers(hosts)
    assert image_ids(hosts, IMAGE) == {host.name: "" for host in hosts}
    assert parts(hosts) == []


FILL = """
until ls /var/tmp/hvdocker-feed-*/sshd.pid >/dev/null 2>&1; do sleep 0.01; done
head -c 1G /dev/zero > /var/tmp/filler
"""


def test_a_host_whose_folder_fills_up_is_sent_the_image_from_here(lab: Lab, cli: Cli, shop: Images) -> None:
    """There was room enough when it was asked; by the time of the first layer there is none."""
    hosts = lab.fresh(4)
    wanted = shop.build(IMAGE, 40 * MIB, 40 * MIB)
    site = LabCluster.write(lab, cli, hosts)
    uplink = BridgeTraffic.of(lab)
    before = uplink.sent_bytes()
    hosts[0].exec("mount -t tmpfs -o size=120m tmpfs /var/tmp && chmod 1777 /var/tmp")
    try:
        hosts[0].spawn(["sh", "-c", FILL])
        site.run("image", "push", IMAGE, "-i", site.inventory)
    finally:
        hosts[0].exec("umount -l /var/tmp")
    # Nobody could be fed by the first host: the second was sent the image as well.
    assert uplink.sent_bytes() - before > 1.5 * 80 * MIB
    assert image_ids(hosts, IMAGE) == {host.name: wanted for host in hosts}
    assert_no_shipment_leftovers(hosts)
