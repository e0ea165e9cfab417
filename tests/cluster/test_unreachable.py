"""Hosts that cannot be reached, each in its own way: exit 4, the host named, nothing touched anywhere."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import PREFIX
from tests.cluster.lab_cluster import SMALL_IMAGE

NOBODY = f"{PREFIX}99"


@pytest.fixture
def pair(lab: Lab) -> Iterator[list[LabHost]]:
    pair = lab.fresh(2)
    yield pair
    for host in pair:
        host.repair()


def write(lab: Lab, cli: Cli, *hosts: object, key: Path | None = None) -> Path:
    ssh = {"user": "trainer", "key": str(key or lab.state.key)}
    path = cli.cwd / "inventory.yaml"
    path.write_text(yaml.safe_dump({"cluster": "far", "image": SMALL_IMAGE, "ssh": ssh, "hosts": list(hosts)}))
    return path


def named(host: LabHost) -> dict[str, object]:
    return {"host": host.address, "name": host.name}


def foreign_key(folder: Path) -> Path:
    path = folder / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def test_a_host_that_is_not_there(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    inventory = write(lab, cli, named(pair[0]), {"host": NOBODY, "name": "ghost"})
    with untouched(*pair):
        result = cli.run("up", inventory, check=4)
    assert "ghost: " in result.err and f"{NOBODY}:22" in result.err and "→" in result.err
    assert "h1" not in result.err and not (cli.cwd / ".hvdocker").exists()


def test_a_host_that_does_not_answer_in_time(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    with untouched(*pair):
        pair[1].exec("iptables -w -A INPUT -p tcp --dport 22 -j DROP")
        result = cli.run("up", write(lab, cli, *map(named, pair)), check=4)
    assert f"h2: {pair[1].address}:22 did not answer" in result.err and "h1" not in result.err
    assert "→ is the machine up" in result.err


def test_a_host_that_refuses(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    with untouched(*pair):
        pair[1].stop_sshd()
        result = cli.run("up", write(lab, cli, *map(named, pair)), check=4)
    assert f"h2: {pair[1].address}:22 refuses connections" in result.err and "h1" not in result.err
    assert f"trainer@{pair[1].address}" in result.err and "→ is sshd running" in result.err


def test_a_host_that_rejects_the_key(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    with untouched(*pair):
        result = cli.run("up", write(lab, cli, *map(named, pair), key=foreign_key(cli.cwd)), check=4)
    assert "no SSH key was accepted" in result.err and "h1" in result.err and "h2" in result.err
    assert "authorized_keys" in result.err


def test_a_host_whose_key_has_changed(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    other = foreign_key(cli.cwd).with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    kept = [line for line in lab.state.known_hosts.read_text().splitlines() if pair[1].address not in line.split()]
    known = "\n".join([*kept, f"{pair[1].address} {other}", ""])
    cli.pins_hosts = False
    (cli.home / ".ssh" / "known_hosts").write_text(known)
    with untouched(*pair):
        # Even a script that takes new keys is not fooled by a changed one.
        result = cli.run("up", write(lab, cli, *map(named, pair)), "--accept-new-host-keys", check=4)
    assert "h2: the host key of" in result.err and "has changed" in result.err and "ssh-keygen -R" in result.err
    assert (cli.home / ".ssh" / "known_hosts").read_text() == known


def test_an_unknown_host_key_is_refused_without_a_terminal_and_remembered_when_accepted(
    lab: Lab, cli: Cli, pair: list[LabHost]
) -> None:
    cli.pins_hosts = False
    inventory = write(lab, cli, *map(named, pair))
    known = cli.home / ".ssh" / "known_hosts"
    with untouched(*pair):
        result = cli.run("up", inventory, check=4)
    assert "h1: the host key is not known: ssh-ed25519 SHA256:" in result.err and "h2: " in result.err
    assert "--accept-new-host-keys" in result.err and not known.exists()
    shown = subprocess.run(["ssh-keygen", "-lf", "-"], input=_key(lab, pair[0]), capture_output=True, text=True)
    assert shown.stdout.split()[1] in result.err

    cli.run("up", inventory, "--accept-new-host-keys", check=0)
    assert sorted(known.read_text().splitlines()) == sorted(f"{host.address} {_key(lab, host)}" for host in pair)
    cli.run("down", check=0)
    assert cluster_leftovers(pair, "far") == {}


def _key(lab: Lab, host: LabHost) -> str:
    lines = lab.state.known_hosts.read_text().splitlines()
    return next(line.split(" ", 1)[1] for line in lines if line.split()[0] == host.address)


def test_hosts_that_fail_in_different_ways_are_told_together(lab: Lab, cli: Cli, pair: list[LabHost]) -> None:
    h1, h2 = pair
    wrong = {**named(h2), "ssh": {"key": str(foreign_key(cli.cwd))}}
    with untouched(*pair):
        h1.stop_sshd()
        result = cli.run("up", write(lab, cli, named(h1), wrong, {"host": NOBODY, "name": "ghost"}), check=4)
    assert f"h1: {h1.address}:22 refuses connections" in result.err
    assert "h2: no SSH key was accepted" in result.err
    assert "ghost: " in result.err
