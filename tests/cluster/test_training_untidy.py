"""Hosts as an installer and their users leave them train together, over the network that the inventory names.

machine/untidy makes the lab's hosts so: their own name is 127.0.1.1, they have a second interface, start-up files
of the login shells (zsh, fish, tcsh) print lines, the data set belongs to a group."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import PREFIX, SECOND_PREFIX, SECOND_SUBNET
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import IMAGE, SCRIPTS, rank_reports

pytestmark = pytest.mark.training

MB = 1_000_000
Special = Callable[..., LabHost]


def prepare(lab: Lab, cli: Cli, hosts: list[LabHost], **settings: object) -> LabCluster:
    site = LabCluster.write(lab, cli, hosts, image=IMAGE, mounts=["/srv/dataset:/dataset:ro"], **settings)
    (site.folder / "train.py").write_text((SCRIPTS / "allreduce_bytes.py").read_text())
    return site


def test_the_hosts_are_untidy(lab: Lab) -> None:
    first, second = lab.fresh(2)
    for host in (first, second):
        assert host.exec(["getent", "hosts", host.name]).split()[0] == "127.0.1.1"
        interfaces = [line.split()[3].partition("/")[0] for line in host.exec("ip -o -4 address").splitlines()]
        assert {host.address, host.address.replace(PREFIX, SECOND_PREFIX)} <= set(interfaces)
        assert host.exec("stat -c '%a %G' /srv/dataset") == "750 research\n"
    shells = [host.exec("getent passwd trainer").strip().rpartition("/")[2] for host in (first, second)]
    assert shells == ["zsh", "fish"]


@pytest.mark.parametrize(
    ("settings", "carrier", "idle", "prefix"),
    [({}, "eth0", "eth1", PREFIX), ({"network": SECOND_SUBNET}, "eth1", "eth0", SECOND_PREFIX)],
    ids=["reached-address", "network-key"],
)
def test_tensors_travel_over_the_training_network_and_nothing_is_lost(
    lab: Lab, cli: Cli, settings: dict[str, str], carrier: str, idle: str, prefix: str
) -> None:
    site = prepare(lab, cli, lab.fresh(2), **settings)
    site.up()
    ranks = rank_reports(site.run("train", "train.py", "-np", "2").out)
    assert [rank["total"] for rank in ranks] == [3.0, 3.0]
    for rank, host in zip(ranks, site.hosts, strict=True):
        assert rank["address"] == host.address.replace(PREFIX, prefix)
        assert rank["sent"][carrier] > 90 * MB and rank["sent"][idle] < 10 * MB, rank["sent"]
        assert rank["data"] == "a row of the data set\n"
    site.run("fetch")
    brought = site.down()
    (job,) = (site.folder / ".hvdocker" / "jobs").iterdir()
    assert saved_beside_the_script(job) == {
        "model-0.h5": "weights of rank 0",
        "model-1.h5": "weights of rank 1",
    }, brought.err
    assert cluster_leftovers(site.hosts, site.cluster) == {}


def saved_beside_the_script(job: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (job / "code" / "checkpoints").iterdir()}


def test_two_generations_of_the_engine_train_together(lab: Lab, cli: Cli, special: Special) -> None:
    newer = special("t1", suite="trixie")
    site = prepare(lab, cli, [*lab.fresh(1), newer])
    site.up()
    ranks = rank_reports(site.run("train", "train.py", "-np", "2").out)
    assert [(rank["total"], rank["address"]) for rank in ranks] == [(3.0, host.address) for host in site.hosts]
    site.down("--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
