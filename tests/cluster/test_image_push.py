"""Images travel once, by layer, and go on where a broken connection stopped them."""

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.images import (
    MIB,
    BridgeTraffic,
    Images,
    assert_no_shipment_leftovers,
    image_ids,
    images,
    layers,
    remove_all_images,
)
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

IMAGE = "ship:test"
STORE = '{"features": {"containerd-snapshotter": true}}'


@pytest.fixture
def shop(lab: Lab) -> Iterator[Images]:
    with images(lab) as made:
        yield made


def push(site: LabCluster, check: int = 0) -> str:
    result = site.run("image", "push", IMAGE, "-i", site.inventory, check=check)
    return result.out if check == 0 else result.err


def test_only_what_changed_travels_between_engine_generations(
    lab: Lab, cli: Cli, shop: Images, special: Callable[..., LabHost]
) -> None:
    hosts = [*lab.fresh(1), special("trixie", suite="trixie")]
    site = LabCluster.write(lab, cli, hosts)
    uplink = BridgeTraffic.of(lab)
    shop.build("ship:base", 20 * MIB, 20 * MIB)
    first = shop.build(IMAGE, 1000, base="ship:base")
    assert push(site) == f"{IMAGE} is on 2 hosts\n"
    assert image_ids(hosts, IMAGE) == {host.name: first for host in hosts}

    changed = shop.build(IMAGE, 1000, base="ship:base")
    before = uplink.sent_bytes()
    push(site)
    assert uplink.sent_bytes() - before < 2 * MIB
    assert image_ids(hosts, IMAGE) == {host.name: changed for host in hosts}
    assert_no_shipment_leftovers(hosts)

    assert push(site) == f"{IMAGE} was already on 2 hosts\n"


def test_an_image_that_only_a_newer_engine_has(
    lab: Lab, cli: Cli, shop: Images, special: Callable[..., LabHost]
) -> None:
    """It comes from that host, in the newer engine's layout, and goes to the older."""
    old, new = [*lab.fresh(1), special("trixie", suite="trixie")]
    wanted = shop.build(IMAGE, 3 * MIB, 1000)
    new.load(IMAGE)
    lab.engine.remove_image(IMAGE, force=True)
    site = LabCluster.write(lab, cli, [old, new])
    push(site)
    assert image_ids([old, new], IMAGE) == {old.name: wanted, new.name: wanted}


def test_a_containerd_image_store_gets_the_whole_image(
    lab: Lab, cli: Cli, shop: Images, special: Callable[..., LabHost]
) -> None:
    classic, store = [*lab.fresh(1), special("store", suite="trixie", engine=STORE)]
    shop.build("ship:base", 5 * MIB)
    shop.build(IMAGE, 1000, base="ship:base")
    site = LabCluster.write(lab, cli, [classic, store])
    push(site)
    shop.build(IMAGE, 2000, base="ship:base")
    push(site)
    wanted = lab.engine.inspect_image(IMAGE)["RootFS"]["Layers"]
    assert [layers(classic, IMAGE), layers(store, IMAGE)] == [wanted, wanted]
    assert_no_shipment_leftovers([classic, store])


def test_an_image_out_of_a_containerd_image_store(
    lab: Lab, cli: Cli, shop: Images, special: Callable[..., LabHost]
) -> None:
    """Its archive is laid out differently, with packed layers; a classic engine ends with the same ones."""
    classic, store = [*lab.fresh(1), special("store", suite="trixie", engine=STORE)]
    shop.build(IMAGE, 3 * MIB, 1000)
    store.load(IMAGE)
    wanted = lab.engine.inspect_image(IMAGE)
    lab.engine.remove_image(IMAGE, force=True)
    push(LabCluster.write(lab, cli, [classic, store]))
    assert layers(classic, IMAGE) == wanted["RootFS"]["Layers"]
    assert image_ids([classic], IMAGE) == {classic.name: wanted["Id"]}


def test_a_broken_connection_costs_only_the_layer_under_way(lab: Lab, cli: Cli, shop: Images) -> None:
    (host,) = lab.fresh(1)
    size = 40 * MIB
    wanted = shop.build(IMAGE, *[size] * 5)
    site = LabCluster.write(lab, cli, [host])
    quota = int(5 * size * 0.6)
    rule = "iptables -w -A INPUT -p tcp --dport 22"
    host.exec(f"{rule} -m quota --quota {quota} -j ACCEPT; {rule} -j REJECT --reject-with tcp-reset")

    said = push(site, check=4)
    assert f"{host.name}: " in said and "connection" in said
    assert not host.has_image(IMAGE)

    host.repair()
    # The engine may still be busy with the part that had just arrived whole.
    until(lambda: host.docker("images", "-q", "hvdocker-part") or None, "the finished layers stay", 60)
    # Another image's push leaves them alone.
    shop.build("ship:other", 1000)
    site.run("image", "push", "ship:other", "-i", site.inventory)
    uplink = BridgeTraffic.of(lab)
    before = uplink.sent_bytes()
    push(site)
    # Of five layers two arrived whole before the cut at three fifths: at most three travel again.
    assert uplink.sent_bytes() - before < 3.5 * size
    assert image_ids([host], IMAGE) == {host.name: wanted}
    assert_no_shipment_leftovers([host])


def test_a_disk_that_is_too_small_is_noticed_before_anything_travels(
    lab: Lab, cli: Cli, shop: Images, special: Callable[..., LabHost]
) -> None:
    small = special("small", tmpfs_mb=300)
    remove_all_images(small)
    shop.build(IMAGE, 200 * MIB)
    site = LabCluster.write(lab, cli, [small])
    uplink = BridgeTraffic.of(lab)
    before = uplink.sent_bytes()
    said = push(site, check=3)
    assert f"{small.name}: the image needs about" in said and "are free" in said
    assert uplink.sent_bytes() - before < 2 * MIB


def test_a_disk_that_fills_up_meanwhile_leaves_no_half_image(
    lab: Lab, cli: Cli, shop: Images, special: Callable[..., LabHost]
) -> None:
    small = special("small", tmpfs_mb=300)
    remove_all_images(small)
    shop.build(IMAGE, 60 * MIB, 60 * MIB)
    site = LabCluster.write(lab, cli, [small])
    pushing = cli.start("image", "push", IMAGE, "-i", site.inventory)
    arrived = 'test -n "$(find /var/lib/docker/tmp -size +1M 2>/dev/null)"'
    until(lambda: small.attempt(["sh", "-c", arrived])[0] == 0 or None, "the first layer arrives", 60)
    small.attempt(["sh", "-c", "head -c 1G /dev/zero > /var/lib/docker/filler"])
    _, said = pushing.communicate(timeout=120)
    small.exec("rm -f /var/lib/docker/filler")
    assert pushing.returncode == 3, said
    assert "the disk is full" in said and "no space left" in said
    assert small.docker("images", "-q").split() == []


def test_up_ships_what_workers_need(lab: Lab, cli: Cli) -> None:
    """The real image, through `up`, to hosts that have none."""
    hosts = lab.fresh(2)
    remove_all_images(*hosts)
    site = LabCluster.write(lab, cli, hosts)
    site.up()
    wanted = lab.engine.inspect_image(SMALL_IMAGE)["Id"]
    assert image_ids(hosts, SMALL_IMAGE) == {host.name: wanted for host in hosts}
    assert site.logins() == site.full_mesh()
    site.down()


def test_a_dry_run_sends_nothing(lab: Lab, cli: Cli, shop: Images) -> None:
    (host,) = lab.fresh(1)
    shop.build(IMAGE, MIB)
    site = LabCluster.write(lab, cli, [host])
    shown = site.run("image", "push", IMAGE, "-i", site.inventory, "--dry-run").out
    assert f"load {IMAGE} from this machine" in shown
    assert not host.has_image(IMAGE)


def test_an_image_that_is_nowhere(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(1))
    result = site.run("image", "push", "no-such:image", "-i", site.inventory, check=1)
    assert "the image no-such:image is on no host and not on this machine" in result.err
