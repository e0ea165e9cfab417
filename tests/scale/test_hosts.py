"""Thirty-two real hosts, each with its own sshd and engine, through the program: up, up again, down, and an
image pushed to all of them.

`SCALE_HOSTS=8 make scale` takes fewer: a host needs 100 MB of memory and half a GB of disk."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli, Result
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.images import MIB, BridgeTraffic, assert_no_shipment_leftovers, image_ids, images
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster

IMAGE = "wide:test"
COUNT = int(os.environ.get("SCALE_HOSTS", "32"))


@pytest.fixture
def many(lab: Lab) -> Iterator[list[LabHost]]:
    """Hosts that were made for this are taken away again."""
    before = {host.name for host in lab.hosts()}
    yield lab.fresh(COUNT)
    for host in lab.hosts():
        if host.name not in before:
            lab.remove(host)


def test_many_real_hosts_form_one_cluster(
    lab: Lab, cli: Cli, many: list[LabHost], capsys: pytest.CaptureFixture[str]
) -> None:
    site = LabCluster.write(lab, cli, many, cluster="wide")
    took: dict[str, float] = {}

    def timed(name: str, *words: str) -> Result:
        started = time.perf_counter()
        result = site.run(*words, timeout=3000)
        took[name] = time.perf_counter() - started
        return result

    timed("up, image shipped", "up", str(site.inventory))
    assert [host["state"] for host in site.status()["hosts"]] == ["running"] * COUNT
    assert timed("up again", "up", str(site.inventory)).out.startswith("nothing to do")
    timed("down", "down", "-y")
    timed("up, image there", "up", str(site.inventory))
    timed("down again", "down", "-y")
    assert cluster_leftovers(many, "wide") == {}
    with images(lab) as shop:
        wanted = shop.build(IMAGE, 40 * MIB, 30 * MIB)
        uplink = BridgeTraffic.of(lab)
        before = uplink.sent_bytes()
        timed("70 MiB pushed", "image", "push", IMAGE, "-i", str(site.inventory))
        assert uplink.sent_bytes() - before < 1.3 * 70 * MIB
        assert image_ids(many, IMAGE) == {host.name: wanted for host in many}
        assert_no_shipment_leftovers(many)
    with capsys.disabled():
        print(f"\n{COUNT} real hosts: " + ", ".join(f"{name} {s:.1f} s" for name, s in took.items()))
