"""Reachable hosts that cannot be used (no engine, no access, port taken …): exit 3, the error names the host
and a fix, and nothing is left behind."""

from collections.abc import Iterator

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import PREFIX
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster

SQUATTER = "$s = IO::Socket::INET->new(LocalPort => 23456, Listen => 1, ReuseAddr => 1) or die; sleep"
DEAD_SOCKET = (
    "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"/var/run/docker.sock\", Listen => 1)'"
    " && chgrp docker /var/run/docker.sock && chmod 660 /var/run/docker.sock"
)
# From there on hosts that the rule names find that nobody listens on the worker port.
CLOSED = "iptables -w -I INPUT -p tcp --dport 12345 -j REJECT --reject-with tcp-reset"


@pytest.fixture
def pair(lab: Lab) -> Iterator[list[LabHost]]:
    pair = lab.fresh(2)
    yield pair
    for host in pair:
        host.repair()


def test_no_engine(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair)
    with untouched(*pair):
        pair[1].stop_engine()
        result = site.run("up", site.inventory, check=3)
        pair[1].start_engine()
    assert "h2: no Docker engine is running" in result.err and "h1" not in result.err
    assert "→ sudo systemctl start docker" in result.err
    assert not (site.folder / ".hvdocker").exists()


def test_a_socket_behind_which_nobody_is(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair)
    with untouched(*pair):
        pair[1].stop_engine()
        pair[1].exec(DEAD_SOCKET)
        result = site.run("up", site.inventory, check=3)
        pair[1].exec("rm /var/run/docker.sock")
        pair[1].start_engine()
    assert "h2: the Docker engine does not answer" in result.err and "h1" not in result.err


def test_a_user_who_may_not_open_the_socket(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair, user="outsider")
    with untouched(*pair):
        result = site.run("up", site.inventory, check=3)
    assert "this user may not open the Docker socket" in result.err and "usermod -aG docker" in result.err
    assert "h1" in result.err and "h2" in result.err


def test_unfit_hosts_are_told_together(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair)
    inventory = yaml.safe_load(site.inventory.read_text())
    inventory["hosts"][0]["ssh"] = {"user": "outsider"}
    site.inventory.write_text(yaml.safe_dump(inventory))
    with untouched(*pair):
        pair[1].stop_engine()
        result = site.run("up", site.inventory, check=3)
        pair[1].start_engine()
    assert "h1: this user may not open the Docker socket" in result.err
    assert "h2: no Docker engine is running" in result.err


def test_a_mount_source_that_is_not_there(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair, mounts=["/srv/only-on-h1:/data:ro", "/srv/nowhere:/more"])
    pair[0].exec("mkdir -p /srv/only-on-h1")
    with untouched(*pair):
        result = site.run("up", site.inventory, check=3)
    pair[0].exec("rmdir /srv/only-on-h1")
    errors = [line for line in result.err.splitlines() if "the mount source" in line]
    assert any("/srv/nowhere" in line and "h1" in line for line in errors)
    assert any("/srv/only-on-h1" in line and "h2" in line and "h1," not in line for line in errors)
    assert "mounts:" in result.err


@pytest.mark.parametrize(("user", "holder"), [("trainer", "trainer"), ("sudoer", "root")])
def test_the_port_of_the_inventory_is_taken(lab: Lab, cli: Cli, pair: list[LabHost], user: str, holder: str) -> None:
    site = LabCluster.write(lab, cli, pair, user=user, port=23456)
    host = pair[1]
    host.spawn(["perl", "-MIO::Socket::INET", "-e", SQUATTER, "squatter"], user=holder)
    pid = until(lambda: host.attempt("pgrep -f squatter$")[1].strip() or None, "the squatter runs", 20)
    until(lambda: "5BA0" in host.exec("cat /proc/net/tcp") or None, "the squatter listens", 20)
    with untouched(*pair):
        result = site.run("up", site.inventory, check=3)
    host.exec(["kill", pid])
    assert "h2: the port 23456 is in use" in result.err and "h1" not in result.err
    assert f"pid {pid}" in result.err and "squatter" in result.err
    assert "`port:`" in result.err


def test_without_a_port_in_the_inventory_a_taken_one_is_passed_over(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair)
    host = pair[1]
    host.spawn(["perl", "-MIO::Socket::INET", "-e", SQUATTER.replace("23456", "12345"), "squatter"])
    pid = until(lambda: host.attempt("pgrep -f squatter$")[1].strip() or None, "the squatter runs", 20)
    until(lambda: ":3039 " in host.exec("cat /proc/net/tcp") or None, "the squatter listens", 20)
    site.up()
    assert [seen["port"] for seen in site.status()["hosts"]] == [12346, 12346]
    site.down()
    host.exec(["kill", pid])


def test_an_image_that_is_nowhere(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair, image="example/nowhere:1")
    with untouched(*pair):
        result = site.run("up", site.inventory, check=1)
    assert "the image example/nowhere:1 is on no host" in result.err and "docker pull" in result.err


def test_an_image_that_is_not_made_for_hvdocker(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair, image=pair[0].tiny_image())
    with untouched(*pair):
        result = site.run("up", site.inventory, check=1)
    assert "tiny:lab is not made for hvdocker" in result.err
    assert "→ hvdocker image build --from tiny:lab\n" in result.err


def test_another_cpu_architecture(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    both = LabCluster.write(lab, cli, pair)
    alone = LabCluster.write(lab, cli, pair[1:], cluster="alone")
    with untouched(*pair):
        pair[1].stop_engine()
        # The engine reports what the kernel says, and the kernel can be told to speak of an older CPU.
        pair[1].start_engine("i686")
        mixed = both.run("up", both.inventory, check=3)
        foreign = alone.run("up", alone.inventory, check=3)
        pair[1].stop_engine()
        pair[1].start_engine()
    assert "h2: its CPU architecture is 386, the other hosts are amd64" in mixed.err
    assert "load" not in mixed.err and "leave this host out" in mixed.err
    assert "is for amd64" in foreign.err and "386" in foreign.err


def test_an_address_that_is_on_no_interface(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair)
    inventory = yaml.safe_load(site.inventory.read_text())
    inventory["hosts"][1]["address"] = f"{PREFIX}77"
    site.inventory.write_text(yaml.safe_dump(inventory))
    with untouched(*pair):
        result = site.run("up", site.inventory, check=3)
    assert f"h2: the training address {PREFIX}77 is on no interface of this host" in result.err
    assert f"`address: {pair[1].address}`" in result.err and "start" not in result.err


def test_a_failure_in_mid_up_undoes_what_this_run_made(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    site = LabCluster.write(lab, cli, pair)
    with untouched(*pair):
        pair[1].exec(f"{CLOSED} -s {pair[0].address}")
        result = site.run("up", site.inventory, check=3)
    # It got as far as running workers before one could not reach the other.
    assert "start hvdocker-lab-worker" in result.err and "undo" in result.err
    assert "h1: h1 cannot log in to every worker" in result.err and "h1 → h2: " in result.err
    assert not (site.folder / ".hvdocker").exists()


def test_a_failed_up_leaves_the_workers_of_earlier_runs(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    first = LabCluster.write(lab, cli, pair[:1])
    first.up()
    ids = first.worker_ids()
    both = LabCluster.write(lab, cli, pair)
    pair[1].exec(f"{CLOSED} -s {pair[0].address}")
    with untouched(pair[1]):
        both.run("up", both.inventory, check=3)
    assert first.worker_ids() == ids and first.logins() == first.full_mesh()
    # The worker was told of one that is gone again: the next `up` puts that right, and leaves it running.
    first = LabCluster.write(lab, cli, pair[:1])
    assert "tell hvdocker-lab-worker" in first.up().err
    assert "nothing to do" in first.up().out and first.worker_ids() == ids
    first.down()
