"""The lab itself: hosts are separate, users are as declared, and dead hosts are created again."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabError, LabHost
from tests.cluster.lab.spec import PREFIX

# The current docker context of the users leads nowhere.
DOCKER_VERSION = "docker -H unix:///var/run/docker.sock version"
Hosts = Callable[[int], list[LabHost]]
Special = Callable[..., LabHost]


def ssh(lab: Lab, host: LabHost, user: str, command: str) -> subprocess.CompletedProcess[str]:
    options = {
        "IdentityFile": host.key(user),
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": lab.state.known_hosts,
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
    }
    flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    argv = ["ssh", "-F", "none", *flags, f"{user}@{host.address}", command]
    return subprocess.run(argv, capture_output=True, text=True, errors="replace")


def test_hosts_have_addresses_and_engines_of_their_own(lab: Lab, hosts: Hosts) -> None:
    h1, h2 = hosts(2)
    assert (h1.address, h2.address) == (f"{PREFIX}11", f"{PREFIX}12")
    assert ssh(lab, h1, "trainer", "hostname").stdout.endswith("h1\n")
    assert ssh(lab, h2, "trainer", "hostname").stdout.endswith("h2\n")
    engines = {host.docker("info", "-f", "{{.ID}}") for host in (h1, h2)}
    assert len(engines) == 2
    h1.docker("run", "-d", "--name", "only-here", h1.tiny_image())
    assert [seen["Name"] for seen in h1.containers()] == ["/only-here"]
    assert h2.containers() == []


def test_a_container_on_the_host_network_has_the_hosts_address(hosts: Hosts) -> None:
    (host,) = hosts(1)
    seen = host.docker("run", "--rm", "--network", "host", host.tiny_image(), "ip", "-4", "-o", "addr")
    assert f"inet {host.address}/24" in seen


@pytest.mark.parametrize(
    ("user", "opens_socket", "has_sudo"),
    [("root", True, True), ("trainer", True, False), ("sudoer", False, True), ("outsider", False, False)],
)
def test_users_reach_the_engine_as_declared(
    lab: Lab, hosts: Hosts, user: str, opens_socket: bool, has_sudo: bool
) -> None:
    (host,) = hosts(1)
    assert (ssh(lab, host, user, DOCKER_VERSION).returncode == 0) is opens_socket
    assert (ssh(lab, host, user, f"sudo -n {DOCKER_VERSION}").returncode == 0) is has_sudo


def test_a_killed_host_comes_back_as_it_was_or_is_replaced(lab: Lab, hosts: Hosts) -> None:
    _, victim = hosts(2)
    key = victim.probe()
    image = victim.tiny_image()
    victim.kill()
    victim.start()
    assert victim.probe() == key
    assert victim.has_image(image)
    victim.kill()
    lab.ensure(2)
    assert victim.probe() != key
    assert not victim.has_image(image)
    assert ssh(lab, victim, "trainer", "true").returncode == 0


def test_engine_and_sshd_stop_and_start_apart(lab: Lab, hosts: Hosts) -> None:
    (host,) = hosts(1)
    host.stop_engine()
    assert ssh(lab, host, "trainer", DOCKER_VERSION).returncode != 0
    host.start_engine()
    host.stop_sshd()
    assert ssh(lab, host, "trainer", "true").returncode == 255
    host.reset()
    assert ssh(lab, host, "trainer", DOCKER_VERSION).returncode == 0


def test_trixie_has_an_engine_of_another_generation(hosts: Hosts, special: Special) -> None:
    generations = {
        host.docker("version", "-f", "{{.Server.Version}}").split(".")[0]
        for host in (*hosts(1), special("t1", suite="trixie"))
    }
    assert generations == {"20", "26"}


def test_a_host_with_gpus_hands_them_to_containers(special: Special) -> None:
    host = special("gpu1", gpus=2)
    assert len(host.exec("nvidia-smi -L", user="trainer").splitlines()) == 2
    fields = "index,uuid,name,memory.total,memory.free,utilization.gpu,temperature.gpu,driver_version"
    lines = host.exec(f"nvidia-smi --query-gpu={fields} --format=csv,noheader,nounits").splitlines()
    assert [line.split(", ")[0] for line in lines] == ["0", "1"]
    assert {len(line.split(", ")) for line in lines} == {8}
    # Only the main process gets the variable: the engine does not give it to what `docker exec` starts.
    host.docker("run", "--name", "trained", "--gpus", "device=0", host.tiny_image(), "env")
    assert "NVIDIA_VISIBLE_DEVICES=0" in host.docker("logs", "trained").splitlines()
    (seen,) = json.loads(host.docker("inspect", "trained"))
    assert seen["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] == ["0"]


def test_a_small_host_runs_out_of_disk(special: Special) -> None:
    host = special("small", tmpfs_mb=600)
    container = host.docker("run", "-d", host.tiny_image()).strip()
    with pytest.raises(LabError, match="No space left"):
        host.exec(f"docker exec {container} sh -c 'cat /dev/zero > /full'")


def test_the_inventory_names_the_hosts(lab: Lab, hosts: Hosts, cli: Cli, tmp_path: Path) -> None:
    path = lab.write_inventory(tmp_path / "inventory.yaml", hosts(2), port=23456)
    assert yaml.safe_load(path.read_text()) == {
        "cluster": "lab",
        "ssh": {"user": "trainer", "key": str(lab.state.key)},
        "port": 23456,
        "hosts": [{"host": f"{PREFIX}11", "name": "h1"}, {"host": f"{PREFIX}12", "name": "h2"}],
    }
    assert cli.home.is_relative_to(tmp_path)
