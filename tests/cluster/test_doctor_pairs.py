"""The ways between hosts, really broken: the cell, the evidence and the way out."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.doctor import diagnose, start_doctor
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import PREFIX
from tests.cluster.lab.wait import in_parallel, until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

PORT = 12345
CHECKS = ("ssh", "ports", "mtu", "rtt")
HIGH = "-p tcp --syn --dport 20000:65535"
CONTAINER = "hvdocker-lab-doctor"
MEND = "iptables -w -F INPUT; tc qdisc del dev eth0 root 2>/dev/null; ip link set dev eth0 mtu 1500"
SQUATTER = "$s = IO::Socket::INET->new(LocalPort => 23456, Listen => 1, ReuseAddr => 1) or die; sleep"
# What the checks of an older image say to words that they do not know.
OLD_IMAGE = f"""
docker run --name older --user 0 --entrypoint sh {SMALL_IMAGE} -c \
  'printf "#!/bin/sh\\necho usage: check sshd >&2; exit 2\\n" > /opt/hvdocker/bin/check'
docker commit -c 'ENTRYPOINT ["/opt/hvdocker/bin/entrypoint"]' older {SMALL_IMAGE} && docker rm older
"""

Cells = dict[tuple[str, str, str], dict[str, Any]]  # Any: JSON


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    hosts = lab.fresh(3)
    in_parallel(lambda host: host.load(SMALL_IMAGE), hosts)
    yield LabCluster.write(lab, desk, hosts)
    for host in hosts:
        host.reset()


@pytest.fixture(scope="module")
def running(site: LabCluster) -> Iterator[LabCluster]:
    """From here on in this file the cluster is up."""
    site.up()
    yield site
    site.down()
    assert cluster_leftovers(site.hosts, site.cluster) == {}


@contextmanager
def broken(*hosts: LabHost) -> Iterator[None]:
    """Whatever a test breaks inside is whole again afterwards."""
    try:
        yield
    finally:
        for host in hosts:
            host.exec(MEND, check=False)


def filtered(host: LabHost, rule: str) -> None:
    host.exec(f"iptables -w -A INPUT {rule}")


def cells(report: dict[str, Any]) -> Cells:
    return {(pair["from"], pair["to"], check["check"]): check for pair in report["pairs"] for check in pair["checks"]}


def not_good(found: Cells) -> dict[tuple[str, str, str], str]:
    return {cell: check["mark"] for cell, check in found.items() if check["mark"] != "good"}


def network(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {host["host"]: check for host in report["hosts"] for check in host["checks"] if check["check"] == "network"}


def follow(site: LabCluster, fix: str) -> None:
    """Does what is offered: `on HOST: COMMAND`."""
    where, _, command = fix.partition(": ")
    next(host for host in site.hosts if f"on {host.name}" == where).exec(command)


def second_interface(host: LabHost, address: str) -> None:
    host.exec("ip link add lab-a type veth peer name lab-b && ip link set lab-b up && ip link set lab-a up")
    host.exec(f"ip addr add {address} dev lab-a")


def all_pairs(hosts: list[LabHost]) -> set[tuple[str, str]]:
    return {(one.name, other.name) for one in hosts for other in hosts if one != other}


def doctors(host: LabHost) -> list[dict[str, Any]]:
    """The stations of the pairs; a container that tries limits has a longer name."""
    return [seen for seen in host.containers() if seen["Name"] == f"/{CONTAINER}"]


def test_healthy_hosts_before_up_and_nothing_is_left(site: LabCluster) -> None:
    with untouched(*site.hosts):
        report = diagnose(site, 0)
    found = cells(report)
    assert set(found) == {(*pair, check) for pair in all_pairs(site.hosts) for check in CHECKS}
    assert not_good(found) == {}
    assert {check["shown"] for cell, check in found.items() if cell[2] == "ssh"} == {"login"}
    assert {check["shown"] for cell, check in found.items() if cell[2] == "mtu"} == {"1500"}
    plan = {name: (check["mark"], check["shown"]) for name, check in network(report).items()}
    assert plan == {host.name: ("good", f"eth0 {host.address}/24") for host in site.hosts}


def test_ports_that_are_blocked_between_two_hosts_only_and_opened_as_offered(site: LabCluster) -> None:
    h1, h2, h3 = site.hosts
    with broken(h2, h3), untouched(*site.hosts):
        filtered(h2, f"-p tcp -s {h1.address} --dport {PORT} -j DROP")
        filtered(h3, f"{HIGH} -s {h1.address} -j DROP")
        filtered(h2, f"{HIGH} -s {h3.address} -j REJECT")
        found = cells(diagnose(site, 3))
        for cell in (("h1", "h2", "ssh"), ("h1", "h3", "ports"), ("h3", "h2", "ports")):
            follow(site, found[cell]["fix"])
        assert not_good(cells(diagnose(site, 0))) == {}
    assert not_good(found) == {
        ("h1", "h2", "ssh"): "bad",
        ("h1", "h3", "ports"): "bad",
        ("h1", "h3", "rtt"): "unknown",
        ("h3", "h2", "ports"): "bad",
        ("h3", "h2", "rtt"): "unknown",
    }
    worker_port = found["h1", "h2", "ssh"]
    assert worker_port["shown"] == "filtered"
    assert worker_port["evidence"][0] == f"h1 → h2 {h2.address}:{PORT}: timed out after 3 s"
    assert worker_port["evidence"][1].startswith("the other way works: h2 → h1")
    assert worker_port["fix"] == f"on h2: sudo iptables -I INPUT -p tcp -s {h1.address} --dport {PORT} -j ACCEPT"

    dropped = found["h1", "h3", "ports"]
    assert dropped["shown"] == "filtered" and len(dropped["evidence"]) == 4
    assert all(line.startswith(f"h1 → h3 {h3.address}:") for line in dropped["evidence"][:3])
    assert all(line.endswith("timed out after 3 s") for line in dropped["evidence"][:3])
    assert dropped["evidence"][3].startswith("the other way works: h3 → h1")
    assert dropped["fix"] == f"on h3: sudo iptables -I INPUT -p tcp -s {h1.address} -j ACCEPT"

    rejected = found["h3", "h2", "ports"]
    assert rejected["shown"] == "rejected"
    assert "Connection refused, though it is open there: a firewall rejects it" in rejected["evidence"][0]
    assert rejected["fix"] == f"on h2: sudo iptables -I INPUT -p tcp -s {h3.address} -j ACCEPT"


def test_packets_that_vanish_for_their_size_and_a_host_that_lets_nobody_in(site: LabCluster) -> None:
    h1, h2, h3 = site.hosts
    with broken(h2, h3):
        h2.exec("ip link set dev eth0 mtu 1200")
        filtered(h3, f"{HIGH} -j DROP")
        report = diagnose(site, 3)
    found = cells(report)
    for start_ in ("h1", "h3"):
        small = found[start_, "h2", "mtu"]
        # A virtual link lets a frame be larger by a VLAN's tag.
        assert (small["mark"], small["shown"]) == ("bad", "1204 of 1500")
        assert small["evidence"] == [
            f"{start_} → h2 {h2.address}: packets of 1204 bytes arrive, packets of 1205 vanish unsaid",
            f"{start_}'s eth0 has MTU 1500, h2's eth0 1200",
        ]
        assert small["fix"] == "on h2: sudo ip link set dev eth0 mtu 1500"
    assert (found["h2", "h1", "mtu"]["mark"], found["h2", "h1", "mtu"]["shown"]) == ("good", "1200")
    plan = network(report)["h2"]
    assert (plan["mark"], plan["fix"]) == ("warn", "sudo ip link set dev eth0 mtu 1500")

    # The same in both cells: it is said once.
    closed = found["h1", "h3", "ports"]
    assert closed == found["h2", "h3", "ports"] and closed["mark"] == "bad"
    assert closed["evidence"][0] == "no host gets through to h3"
    assert closed["fix"] == f"on h3: sudo iptables -I INPUT -p tcp -s {h1.address},{h2.address} -j ACCEPT"
    assert found["h3", "h1", "ports"]["mark"] == "good"


def test_both_ends_take_more_than_what_lies_between_them(site: LabCluster) -> None:
    h1, h2, _ = site.hosts
    with broken(h2):
        filtered(h2, f"-p udp -s {h1.address} -m length --length 1301:65535 -j DROP")
        found = cells(diagnose(site, 3))
    assert not_good(found) == {("h1", "h2", "mtu"): "bad"}
    hole = found["h1", "h2", "mtu"]
    assert hole["shown"] == "1300 of 1500"
    assert hole["evidence"][1] == "both ends have MTU 1500: something between them takes less"
    assert hole["fix"] == "on h1: sudo ip link set dev eth0 mtu 1300"


def test_what_cannot_be_known_is_grey_and_nothing_is_shipped(lab: Lab, desk: Cli, site: LabCluster) -> None:
    """h3 lacks the image, a stranger has the worker port of h2, and one host is not there."""
    _, h2, h3 = site.hosts
    wide = LabCluster.write(lab, desk, site.hosts, cluster="wide", port=23456)
    inventory = yaml.safe_load(wide.inventory.read_text())
    inventory["hosts"].append({"host": f"{PREFIX}99", "name": "ghost"})
    wide.inventory.write_text(yaml.safe_dump(inventory))
    h3.exec(f"docker tag {SMALL_IMAGE} kept:1 && docker rmi {SMALL_IMAGE}")
    h2.spawn(["perl", "-MIO::Socket::INET", "-e", SQUATTER, "squatter"])
    pid = until(lambda: h2.attempt("pgrep -f squatter$")[1].strip() or None, "the squatter runs", 20)
    until(lambda: "5BA0" in h2.exec("cat /proc/net/tcp") or None, "the squatter listens", 20)
    try:
        with untouched(*site.hosts):
            found = cells(diagnose(wide, 4))
        assert not h3.has_image(SMALL_IMAGE)
    finally:
        h2.exec(["kill", pid])
        h3.exec(f"docker tag kept:1 {SMALL_IMAGE} && docker rmi kept:1")
    assert not_good(found) == {
        ("h1", "h2", "ssh"): "unknown",
        **{cell: "unknown" for cell in found if {"h3", "ghost"} & set(cell[:2])},
    }
    assert (
        f"{h2.address}:23456 is held by somebody else: see the port check of h2"
        in found["h1", "h2", "ssh"]["evidence"][0]
    )
    absent = found["h1", "h3", "ports"]
    assert absent["shown"] == "no image" and absent["fix"] == "hvdocker image push -i inventory.yaml"
    assert f"h3 has no image {SMALL_IMAGE}" in absent["evidence"][0]
    assert found["h1", "ghost", "mtu"]["evidence"] == ["ghost was not reached"]


def test_an_image_of_an_older_hvdocker_is_told(site: LabCluster) -> None:
    h3 = site.hosts[2]
    h3.exec(f"docker tag {SMALL_IMAGE} kept:1")
    h3.exec(OLD_IMAGE)
    try:
        with untouched(*site.hosts):
            found = cells(diagnose(site, 0))
    finally:
        h3.exec(f"docker rmi {SMALL_IMAGE}; docker tag kept:1 {SMALL_IMAGE} && docker rmi kept:1")
    assert not_good(found) == {cell: "unknown" for cell in found if "h3" in cell[:2]}
    old = found["h2", "h3", "ssh"]
    assert old["shown"] == "old image" and old["evidence"][-1] == "usage: check sshd"
    assert old["fix"] == "hvdocker image build --target base && hvdocker up"


def test_ctrl_c_leaves_nothing_and_what_a_killed_doctor_left_is_cleared(site: LabCluster) -> None:
    h1 = site.hosts[0]
    with untouched(*site.hosts):
        process = start_doctor(site)
        until(lambda: all(doctors(host) for host in site.hosts) or None, "the doctor is at work", 60)
        (seen,) = doctors(h1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        assert process.returncode != 0
        settings = seen["HostConfig"]
        assert (settings["AutoRemove"], settings["RestartPolicy"]["Name"]) == (True, "no")
        assert (settings["CapDrop"], settings["NetworkMode"], seen["Mounts"]) == (["ALL"], "host", [])
        assert seen["Config"]["User"] == "1000:1000" and seen["Config"]["Cmd"][0] == "timeout"
        labels = "--label hvdocker.cluster=lab --label hvdocker.role=doctor --label hvdocker.host=h1"
        h1.exec(f"docker create --name {CONTAINER} {labels} {SMALL_IMAGE} true")
        assert not_good(cells(diagnose(site, 0))) == {}


def test_a_host_that_is_lost_on_the_way_is_grey_and_the_others_are_left_clean(site: LabCluster) -> None:
    h1, h2, h3 = site.hosts
    with broken(h1), untouched(h1, h2):
        # What is dropped makes the examination last: h3 goes in the middle of it.
        filtered(h1, f"{HIGH} -s {h2.address} -j DROP")
        process = start_doctor(site)
        until(lambda: all(doctors(host) for host in site.hosts) or None, "the doctor is at work", 60)
        h3.stop_sshd()
        try:
            out, _ = process.communicate(timeout=120)
        finally:
            h3.start_sshd()
    found = cells(json.loads(out))
    assert found["h2", "h1", "ports"]["mark"] == "bad"
    assert found["h1", "h2", "ports"]["mark"] == "good"
    assert {found["h3", "h1", check]["mark"] for check in CHECKS} == {"unknown"}
    assert "the connection was lost" in found["h3", "h1", "ssh"]["evidence"][0]
    # Its container ends by itself, and the engine removes it then; here we do not wait for that.
    (left,) = doctors(h3)
    assert left["HostConfig"]["AutoRemove"] and left["Config"]["Cmd"][:2] == ["timeout", "120"]
    h3.docker("rm", "-f", left["Id"])


def test_an_address_of_docker0_is_no_training_address(lab: Lab, desk: Cli, site: LabCluster) -> None:
    inner = LabCluster.write(lab, desk, site.hosts[:2], cluster="inner")
    inventory = yaml.safe_load(inner.inventory.read_text())
    inventory["hosts"][0]["address"] = "172.17.0.1"
    inventory["hosts"][1]["address"] = f"{PREFIX}77"
    inner.inventory.write_text(yaml.safe_dump(inventory))
    with untouched(*site.hosts):
        report = diagnose(inner, 3)
    found = network(report)
    assert (found["h1"]["mark"], found["h1"]["shown"]) == ("bad", "docker0")
    assert "other machines have the same addresses" in " ".join(found["h1"]["evidence"])
    assert (found["h2"]["mark"], found["h2"]["shown"]) == ("bad", f"{PREFIX}77 is nowhere")
    # From such addresses hosts would find themselves: nothing is started.
    assert {check["mark"] for check in cells(report).values()} == {"unknown"}
    assert "no interface of h2 has its training address" in cells(report)["h1", "h2", "ssh"]["evidence"][0]


def test_link_local_addresses_twins_and_a_network_that_a_host_is_not_in(lab: Lab, desk: Cli, site: LabCluster) -> None:
    h1, h2, _ = site.hosts
    odd = LabCluster.write(lab, desk, site.hosts, cluster="odd", network="203.0.113.0/24")
    inventory = yaml.safe_load(odd.inventory.read_text())
    inventory["hosts"][0]["address"] = "169.254.7.8"
    inventory["hosts"][1]["address"] = h2.address
    odd.inventory.write_text(yaml.safe_dump(inventory))
    second_interface(h1, "169.254.7.8/16")
    second_interface(h2, f"{PREFIX}202/24")
    try:
        report = diagnose(odd, 3)
    finally:
        for host in (h1, h2):
            host.exec("ip link del lab-a")
    found = network(report)
    assert (found["h1"]["mark"], found["h1"]["shown"]) == ("warn", "link-local")
    assert "nobody gave h1 an address" in " ".join(found["h1"]["evidence"])
    assert f"`address: {h1.address}`" in found["h1"]["fix"]
    assert (found["h2"]["mark"], found["h2"]["shown"]) == ("warn", "eth0 and lab-a")
    assert f"lab-a ({PREFIX}202/24) is in the same subnet as eth0" in " ".join(found["h2"]["evidence"])
    assert "arp_filter=1" in found["h2"]["fix"]
    (outside,) = [check for check in report["hosts"][2]["checks"] if check["check"] == "address"]
    assert outside["mark"] == "bad" and "is in the training network 203.0.113.0/24" in outside["shown"]
    assert site.hosts[2].address in outside["evidence"][0] and "correct `network:`" in outside["fix"]


def test_a_running_cluster_is_examined_in_its_workers(running: LabCluster) -> None:
    h1, h2, _ = running.hosts
    ids = running.worker_ids()
    with broken(h2), untouched(*running.hosts):
        filtered(h2, f"-p tcp -s {h1.address} --dport {PORT} -j DROP")
        found = cells(diagnose(running, 3))
    assert not_good(found) == {("h1", "h2", "ssh"): "bad"}
    assert running.worker_ids() == ids
    # Nothing of the checks goes on in the workers.
    left = {host.name: host.docker("top", running.worker, "-eo", "pid,args") for host in running.hosts}
    assert {name: "check" in processes for name, processes in left.items()} == dict.fromkeys(left, False)


def test_bandwidth_only_when_asked_for_and_a_slow_link_stands_out(running: LabCluster) -> None:
    h2 = running.hosts[1]
    with broken(h2):
        h2.exec("tc qdisc add dev eth0 root tbf rate 5mbit burst 32kbit latency 50ms")
        found = cells(diagnose(running, 0, "--deep"))
    speeds = {cell[:2]: check for cell, check in found.items() if cell[2] == "bandwidth"}
    assert set(speeds) == all_pairs(running.hosts)
    assert all(check["shown"].endswith(" Gbit/s") for check in speeds.values())
    # A busy machine may slow down others too: only these must be.
    slow = {pair for pair, check in speeds.items() if check["mark"] == "warn"}
    assert slow >= {("h2", "h1"), ("h2", "h3")}
    assert float(speeds["h2", "h1"]["shown"].split()[0]) < 0.02
    assert "the others' median is" in speeds["h2", "h1"]["evidence"][0]
    # Kept for placement, by pairs: the slower way.
    kept = json.loads((running.folder / ".hvdocker" / "links.json").read_text())["bits_per_s"]
    assert {(one, other) for one, other, _ in kept} == {("h1", "h2"), ("h1", "h3"), ("h2", "h3")}
    assert all(speed < 2e7 for one, other, speed in kept if "h2" in (one, other))


def test_a_cluster_of_which_one_worker_sleeps(running: LabCluster) -> None:
    """The others have the worker port: they are only greeted."""
    h3 = running.hosts[2]
    h3.docker("stop", running.worker)
    try:
        with untouched(*running.hosts):
            report = diagnose(running, 3)
    finally:
        running.up()
    found = cells(report)
    assert not_good(found) == {}
    (asleep,) = [check for check in report["hosts"][2]["checks"] if check["check"] == "worker"]
    assert (asleep["mark"], asleep["shown"]) == ("bad", "it is exited")
    assert asleep["command"] == f"docker logs {running.worker}" and asleep["evidence"] == [running.worker]
    assert asleep["fix"] == "hvdocker up -i inventory.yaml"
    assert found["h1", "h2", "ssh"]["shown"] == "greets"
    assert found["h1", "h3", "ssh"]["shown"] == "login"


def test_a_doctor_that_was_left_behind_is_no_worker_and_no_job(running: LabCluster) -> None:
    h1 = running.hosts[0]
    labels = "--label hvdocker.cluster=lab --label hvdocker.role=doctor --label hvdocker.host=h1"
    h1.exec(f"docker create --name {CONTAINER} {labels} {SMALL_IMAGE} true")
    status = running.status()
    assert [host["state"] for host in status["hosts"]] == ["running"] * 3 and status["jobs"] == []
    ids = running.worker_ids()
    running.up()
    assert running.worker_ids() == ids
    running.down()
    assert cluster_leftovers(running.hosts, running.cluster) == {}
    running.up()
