"""Hosts that are not all alike: another generation of the engine, and one with GPUs (a stand-in)."""

import json
from collections.abc import Callable

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

Special = Callable[..., LabHost]


def test_two_generations_of_the_engine_form_one_cluster(lab: Lab, cli: Cli, special: Special) -> None:
    site = LabCluster.write(lab, cli, [*lab.fresh(1), special("t1", suite="trixie")])
    site.up()
    generations = [host["engine"].split(".")[0] for host in site.status()["hosts"]]
    assert generations == ["20", "26"]
    assert site.logins() == site.full_mesh()
    assert site.up().out.startswith("nothing to do")
    site.down()
    assert cluster_leftovers(site.hosts, "lab") == {}


def test_a_worker_gets_the_gpus_of_its_host(lab: Lab, cli: Cli, special: Special) -> None:
    plain, gpu = *lab.fresh(1), special("gpu1", gpus=2)
    site = LabCluster.write(lab, cli, [plain, gpu])
    site.up()
    assert [host["slots"] for host in site.status()["hosts"]] == [1, 2]
    seen = site.inspect_worker(gpu)
    (request,) = seen["HostConfig"]["DeviceRequests"]
    uuids = [line.split("UUID: ")[1].rstrip(")") for line in gpu.exec("nvidia-smi -L").splitlines()]
    assert request["Capabilities"] == [["gpu"]] and request["DeviceIDs"] == uuids
    assert seen["Config"]["Labels"]["hvdocker.gpus"].split(",") == uuids
    assert not site.inspect_worker(plain)["HostConfig"]["DeviceRequests"]
    assert site.up().out.startswith("nothing to do")
    site.down()
    assert cluster_leftovers(site.hosts, "lab") == {}
    # Where no image is named, GPUs decide.
    for hosts, image in (([plain, gpu], "doc-hvd:gpu"), ([plain], "doc-hvd:cpu")):
        unnamed = LabCluster.write(lab, cli, hosts, image=None)
        assert image in unnamed.run("up", unnamed.inventory, "--dry-run", "--script").out


def test_hosts_with_one_home_have_folders_of_their_own(lab: Lab, cli: Cli, special: Special) -> None:
    """As on GPFS, BeeGFS or virtiofs: the device of the home names no server."""
    site = LabCluster.write(lab, cli, [special("s1", home="shared"), special("s2", home="shared")])
    for host in site.hosts:
        host.load(SMALL_IMAGE)
    site.up()
    assert site.logins() == site.full_mesh()
    assert site.up().out.startswith("nothing to do")
    (site.folder / "code").mkdir()
    (site.folder / "code" / "train.py").write_text("print(1)\n")
    job = site.run("train", "-d", "code/train.py", "-np", "2").out.strip()
    for host in site.hosts:
        assert host.exec(f"cat {site.folder_on(host)}/code/train.py") == "print(1)\n"
        assert json.loads(host.exec(f"cat {site.folder_on(host)}/jobs/{job}/job.json"))["host"] == host.name
    site.down()
    assert cluster_leftovers(site.hosts, "lab") == {}
