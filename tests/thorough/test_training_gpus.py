"""Slots are GPUs (stand-ins): asked for, placed, leased and given back, on hosts with five, three and two."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import DATA, IMAGE, SCRIPTS, open_gate, rank_reports, train_detached

COUNTS = {"five": 5, "three": 3, "two": 2}


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    hosts = [lab.ensure_special(name, gpus=number) for name, number in COUNTS.items()]
    for host in hosts:
        host.reset()
        host.load(IMAGE)
        host.exec(f"rm -rf {DATA} && mkdir -m 777 {DATA}")
    found = LabCluster.write(lab, desk, hosts, image=IMAGE, mounts=[f"{DATA}:/data:ro"])
    shutil.copytree(SCRIPTS, found.folder / "code")
    yield found
    desk.close()
    for host in hosts:
        host.reset()


def uuids(host: LabHost) -> list[str]:
    return host.exec("nvidia-smi --query-gpu=uuid --format=csv,noheader").split()


def containers(host: LabHost, role: str) -> dict[str, dict[str, Any]]:
    """Those of that role, running or not, as `docker inspect` shows them."""
    names = host.docker("ps", "-aq", "--filter", f"label=hvdocker.role={role}").split()
    found = json.loads(host.docker("inspect", *names)) if names else []
    return {one["Name"].lstrip("/"): one for one in found}


def devices(container: dict[str, Any]) -> list[str]:
    (request,) = container["HostConfig"]["DeviceRequests"]
    assert request["Capabilities"] == [["gpu"]] and request["Count"] == 0
    return list(request["DeviceIDs"])


def given(host: LabHost, name: str) -> list[str]:
    """What the engine itself put into the container."""
    said = host.docker("exec", name, "sh", "-c", "tr '\\0' '\\n' < /proc/1/environ")
    (line,) = [line for line in said.splitlines() if line.startswith("NVIDIA_VISIBLE_DEVICES=")]
    return line.partition("=")[2].split(",")


def test_six_of_five_three_and_two(site: LabCluster) -> None:
    five, three, two = site.hosts
    up = site.run("up", site.inventory, "-np", "6", "--explain")
    assert "two:1,five:5" in up.err and "leaves 2" in up.err
    mine = {"five": uuids(five), "two": uuids(two)[:1]}
    for host in (five, two):
        (worker,) = containers(host, "worker").values()
        assert devices(worker) == mine[host.name] == given(host, site.worker)
        assert worker["Config"]["Labels"]["hvdocker.gpus"].split(",") == mine[host.name]
    assert containers(three, "worker") == {}
    states = {host["name"]: (host["state"], host["slots"]) for host in site.status()["hosts"]}
    assert states == {"five": ("running", 5), "three": ("left out", None), "two": ("running", 1)}
    assert site.run("up", site.inventory, "-np", "6").out.startswith("nothing to do")

    trained = site.run("train", "code/devices.py")
    ranks = rank_reports(trained.out)
    # The head is where the smallest share is: the chief.
    assert [rank["host"] for rank in ranks] == ["two"] + ["five"] * 5
    assert [rank["local"] for rank in ranks] == [0, 0, 1, 2, 3, 4]
    assert all(rank["sees"].split(",") == mine[rank["host"]] for rank in ranks)
    # In the worker and in the master alike: what the engine gave to the container.
    assert all(rank["container"].split(",") == mine[rank["host"]] for rank in ranks)
    (master,) = containers(two, "master").values()
    assert json.loads(master["Config"]["Labels"]["hvdocker.placement"]) == mine
    assert devices(master) == mine["two"] and containers(five, "master") == {}

    # A host that is no part of it may be away.
    job = json.loads(site.run("jobs", "--json").out)["jobs"][0]["job"]
    three.stop_sshd()
    site.run("train", "code/devices.py", "-np", "2", "--strategy", "balanced")
    site.run("fetch", job)
    site.run("keys", "rotate")
    assert {host.name for host in (five, two) if site.inspect_worker(host)["State"]["Running"]} == {
        "five",
        "two",
    }
    assert devices(site.inspect_worker(five)) == mine["five"]
    assert site.run("up", site.inventory, "-np", "6").out.startswith("nothing to do")
    three.start_sshd()

    grown = site.run("up", site.inventory)
    assert "10 slots" in grown.out and devices(containers(three, "worker")[site.worker]) == uuids(three)
    site.down("--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}


def test_a_run_of_six_does_without_a_host_that_is_away_and_gives_all_of_it_back(site: LabCluster) -> None:
    five, three, two = site.hosts
    three.stop_sshd()
    with untouched(five, two):
        done = site.run("run", site.inventory, "code/devices.py", "-np", "6", "--explain")
    three.start_sshd()
    assert "three" in done.err and "left out" in done.err and "two:1,five:5" in done.err
    ranks = rank_reports(done.out)
    assert [rank["host"] for rank in ranks] == ["two"] + ["five"] * 5
    assert [rank["sees"].split(",") for rank in ranks[:2]] == [uuids(two)[:1], uuids(five)]
    assert json.loads(site.run("gpus", "-i", site.inventory, "--json").out)["free"] == 10


def test_two_clusters_that_come_up_at_once_get_different_gpus(site: LabCluster) -> None:
    asked = ("up", site.inventory, "-np", "6", "--lock-wait", "120", "--cluster")
    both = [site.cli.start(*asked, name, cwd=site.folder) for name in ("mine", "yours")]
    ends = [(process.communicate(timeout=300), process.returncode) for process in both]
    print(ends)
    assert sorted(code for _, code in ends) == [0, 6]
    (refused,) = [err for (_, err), code in ends if code == 6]
    winner = "mine" if ends[0][1] == 0 else "yours"
    assert "6 wanted, 4 free" in refused and f"the cluster {winner} of " in refused
    loser = "yours" if winner == "mine" else "mine"
    site.run("up", site.inventory, "-np", "4", "--cluster", loser)
    held = [
        device for host in site.hosts for worker in containers(host, "worker").values() for device in devices(worker)
    ]
    assert len(held) == len(set(held)) == 10
    nothing = site.run("up", site.inventory, check=6).err
    assert "none of its GPUs is free" in nothing
    for name in ("mine", "yours"):
        said = site.run("down", "-i", site.inventory, "--cluster", name, "-y").out
        assert f"{name} is down: 2 hosts given back" in said
        assert cluster_leftovers(site.hosts, name) == {}


def test_models_and_slices(site: LabCluster) -> None:
    two = site.hosts[2]
    fields = "mkdir -p /run/lab-gpu/0 /run/lab-gpu/1 && cd /run/lab-gpu && "
    fields += "echo 'NVIDIA A100-SXM4-80GB' | tee 0/name > 1/name && echo 81559 > 0/memory.total && "
    two.exec(fields + "printf '3g.40gb\\n3g.40gb\\n' > 1/slices")
    refused = site.run("up", site.inventory, "-np", "2", "--gpu", "A100:80GB", check=6).err
    assert "2 wanted, 1 free of A100:80GB" in refused
    site.run("up", site.inventory, "-np", "1", "--gpu", "A100:80GB")
    assert devices(containers(two, "worker")[site.worker]) == uuids(two)[:1]
    site.run("up", site.inventory, "-H", "two:3")
    held = devices(containers(two, "worker")[site.worker])
    assert [device[:4] for device in held] == ["GPU-", "MIG-", "MIG-"]
    ranks = rank_reports(site.run("train", "code/devices.py", "-np", "2", "--gpu", "40GB").out)
    # Of slices a process can use one: each rank sees its own.
    assert sorted(rank["sees"] for rank in ranks) == sorted(held[1:])
    site.down("--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
    two.exec("rm -rf /run/lab-gpu")


def test_two_jobs_share_the_cluster_and_leave_strangers_alone(site: LabCluster) -> None:
    three = site.hosts[1]
    ids = {host.name: uuids(host) for host in site.hosts}
    three.spawn(["sh", "-c", "echo $$ > /tmp/stranger; exec sleep 86400"], user="outsider")
    pid = until(lambda: three.attempt(["cat", "/tmp/stranger"])[1].strip() or None, "a stranger works", 30)
    apps = f"mkdir -p /run/lab-gpu && echo '{ids['three'][1]}, {pid}, python, 9000' > /run/lab-gpu/apps"
    three.exec(apps)
    site.up()
    assert devices(containers(three, "worker")[site.worker]) == [ids["three"][0], ids["three"][2]]

    # It comes to a GPU that the cluster has already: jobs go around it.
    three.exec(f"echo '{ids['three'][0]}, {pid}, python, 9000' >> /run/lab-gpu/apps")
    first = train_detached(site, "-np", "4", "code/devices.py", "--", "open")
    second = train_detached(site, "-np", "3", "code/devices.py", "--", "open")
    refused = site.run("train", "-np", "2", "code/devices.py", check=6)
    assert "2 wanted, 1 free" in refused.err and "of outsider" in refused.err
    assert "--queue" in refused.err
    open_gate(site, "open")
    seen: dict[str, set[tuple[str, str]]] = {}
    for job, count in ((first, 4), (second, 3)):
        ranks = rank_reports(site.run("logs", "-f", job).out)
        assert len(ranks) == count
        seen[job] = {(rank["host"], device) for rank in ranks for device in rank["sees"].split(",")}
        assert len(seen[job]) == count
    assert not seen[first] & seen[second]
    used = {device for job in seen.values() for _, device in job}
    assert not used & {ids["three"][0], ids["three"][1]}
    site.down("--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}
