"""What is known of GPUs (stand-ins): five, three and two of them beside a host that has none."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster
from tests.cluster.terminal import Terminal

COUNTS = {"five": 5, "three": 3, "two": 2}
HUNG = "nvidia-smi did not answer within 10 s"


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    hosts = [lab.ensure_special(name, gpus=number) for name, number in COUNTS.items()]
    plain = lab.ensure_special("plain")
    for host in (*hosts, plain):
        host.reset()
        host.load(SMALL_IMAGE)
    found = LabCluster.write(lab, desk, [*hosts, plain])
    yield found
    for host in found.hosts:
        host.reset()


def seen(site: LabCluster, check: int = 0) -> dict[str, dict[str, Any]]:
    """What `gpus --json` says, by host."""
    told = json.loads(site.run("gpus", site.inventory, "--json", check=check).out)
    return {host["name"]: host for host in told["hosts"]}


def uuids(host: LabHost) -> list[str]:
    return host.exec("nvidia-smi --query-gpu=uuid --format=csv,noheader").split()


def say(host: LabHost, path: str, text: str) -> None:
    """What the stand-in is to answer."""
    script = 'mkdir -p "$(dirname "/run/lab-gpu/$1")"; printf "%s\\n" "$2" > "/run/lab-gpu/$1"'
    host.exec(["sh", "-c", script, "say", path, text])


def started(host: LabHost, user: str) -> int:
    """A process of somebody else on the host; its pid."""
    host.spawn(["sh", "-c", "echo $$ > /tmp/foreign-$(id -un); exec sleep 86400"], user=user)
    path = f"/tmp/foreign-{user}"
    return int(until(lambda: host.attempt(["cat", path])[1].strip() or None, f"{user} works", 30))


def test_gpus_and_slots_are_found(site: LabCluster) -> None:
    found = seen(site)
    assert [len(found[name]["gpus"]) for name in COUNTS] == [5, 3, 2]
    assert [gpu["uuid"] for gpu in found["five"]["gpus"]] == uuids(site.hosts[0])
    assert all(gpu["is_free"] and not gpu["leases"] for name in COUNTS for gpu in found[name]["gpus"])
    assert (found["plain"]["gpus"], found["plain"]["slots"]) == ([], {"total": 1, "free": 1, "held": {}})
    first = found["two"]["gpus"][0]
    assert (first["model"], first["memory_mb"], first["free_mb"]) == ("NVIDIA Lab Stand-In", 16384, 16000)
    assert (first["utilization"], first["temperature"], first["processes"]) == (0, 40, [])
    told = site.run("gpus", site.inventory).out.splitlines()[-1]
    assert told == "10 GPUs on 3 hosts, 10 free; 1 CPU slot on 1 host, 1 free"


def test_models_slices_and_processes_of_others(site: LabCluster) -> None:
    five, three = site.hosts[:2]
    say(five, "1/name", "NVIDIA A100-SXM4-40GB")
    say(five, "1/slices", "3g.20gb\n2g.10gb")
    say(five, "2/slices", "")
    say(five, "2/mig.mode.current", "Enabled")
    five.exec("rm /run/lab-gpu/2/slices")
    say(five, "3/name", "Tesla T4")
    say(five, "3/memory.used", "[N/A]")
    large, small = started(three, "outsider"), started(three, "sudoer")
    ids = uuids(three)
    say(three, "apps", f"{ids[0]}, {large}, python, with commas, 700\n{ids[1]}, {small}, python, 300")
    found = seen(site)
    cards = found["five"]["gpus"]
    assert [card["model"] for card in cards] == [
        "NVIDIA Lab Stand-In",
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "NVIDIA A100-SXM4-40GB MIG 2g.10gb",
        "Tesla T4",
        "NVIDIA Lab Stand-In",
    ]
    listed = [line for line in five.exec("nvidia-smi -L").splitlines() if "  MIG " in line]
    assert [card["uuid"] for card in cards[1:3]] == [line.split("UUID: ")[1].rstrip(")") for line in listed]
    assert {card["parent"] for card in cards[1:3]} == {uuids(five)[1]} and cards[1]["memory_mb"] == 20480
    assert found["five"]["notes"] == ["GPU 2 is in MIG mode and has no slices: it cannot be used"]
    assert cards[3]["free_mb"] is None and cards[3]["is_free"]
    used, shared, idle = found["three"]["gpus"]
    assert [used["is_free"], shared["is_free"], idle["is_free"]] == [False, True, True]
    (process,) = used["processes"]
    assert (process["pid"], process["program"], process["user"], process["used_mb"]) == (
        large, "python, with commas", "outsider", 700,
    )  # fmt: skip
    assert process["is_foreign"] and not shared["processes"][0]["is_foreign"]
    # The inventory says what counts.
    site.inventory.write_text(site.inventory.read_text() + "gpus: {busy: 200MB}\n")
    assert [gpu["is_free"] for gpu in seen(site)["three"]["gpus"]] == [False, False, True]
    shown = site.run("gpus", site.inventory).out
    assert "held by outsider" in shown and f"{small} python of sudoer, 300 MB" in shown
    three.exec(["kill", str(large), str(small)])


def test_a_driver_that_hangs_keeps_nobody_waiting(site: LabCluster, lab: Lab, desk: Cli) -> None:
    """Its process cannot be ended, and holds on to its pipes."""
    three, two = site.hosts[1:3]
    three.exec("rm -f /run/lab-gpu/apps")
    say(two, "hang", "")
    try:
        found = seen(site, check=3)
        assert found["two"]["error"] == f"two: its GPUs are not known: {HUNG}" and not found["two"]["gpus"]
        assert all(gpu["is_free"] for gpu in found["three"]["gpus"])
        alone = LabCluster.write(lab, desk, [two], cluster="alone")
        states = alone.run("status", "-i", alone.inventory, "--json").out
        assert [host["state"] for host in json.loads(states)["hosts"]] == ["no worker"]
        doctor = json.loads(alone.run("doctor", alone.inventory, "--json", check=3).out)
        (cell,) = [check for check in doctor["hosts"][0]["checks"] if check["check"] == "gpus"]
        assert cell["mark"] == "bad" and HUNG in cell["evidence"]
    finally:
        two.exec("rm -rf /run/lab-gpu")


def test_a_clusters_lease_shows_until_it_is_down(site: LabCluster, lab: Lab, desk: Cli) -> None:
    site.hosts[0].exec("rm -rf /run/lab-gpu")
    pair = LabCluster.write(lab, desk, site.hosts[2:], cluster="kims")
    pair.run("up", pair.inventory, env={"HVDOCKER_OWNER": "kim"})
    worker = pair.inspect_worker(pair.hosts[0])
    pid = worker["State"]["Pid"]
    first = uuids(pair.hosts[0])[0]
    say(pair.hosts[0], "apps", f"{first}, {pid}, python, 900")
    gpus = seen(site)["two"]["gpus"]
    lease = {"cluster": "kims", "owner": "kim", "job": None, "container": worker["Id"]}
    assert [gpu["leases"] for gpu in gpus] == [[lease], [lease]]
    assert not any(gpu["is_free"] or gpu["is_free_in_cluster"] for gpu in gpus)
    (process,) = gpus[0]["processes"]
    assert (process["container"], process["cluster"], process["is_foreign"]) == (worker["Id"], "kims", False)
    assert "held by the cluster kims of kim" in site.run("gpus", site.inventory).out
    inside = pair.run("gpus", pair.inventory).out
    assert "free in kims" in inside and inside.splitlines()[-1].startswith("2 GPUs on 1 host, 0 free; 2 more in kims")
    watched(pair)
    pair.down("--force")
    pair.hosts[0].exec("rm -rf /run/lab-gpu")
    assert all(gpu["is_free"] for gpu in seen(site)["two"]["gpus"])
    assert cluster_leftovers(pair.hosts, "kims") == {}


def watched(site: LabCluster) -> None:
    """In place on a terminal, with fresh numbers; as lines of JSON elsewhere."""
    refused = site.run("gpus", "--watch", check=2)
    assert "--watch --json" in refused.err
    terminal = Terminal(site.cli, "gpus", "--watch", cwd=site.folder)
    terminal.wait_for("40  free in kims")
    say(site.hosts[0], "1/temperature.gpu", "77")
    terminal.wait_for("77  free in kims")
    terminal.type("\x03")
    assert terminal.end() == 130
    process = site.cli.start("gpus", "--watch", "--json", cwd=site.folder)
    assert process.stdout is not None
    told = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.kill()
    assert [one["gpus"] for one in told] == [2, 2]
