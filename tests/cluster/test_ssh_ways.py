"""The ways to a host that people have set up: jump hosts, ~/.ssh/config, an agent."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.site import SMALL_IMAGE
from tests.cluster.traces import left_of

BEHIND = "iptables -w -A INPUT -p tcp --dport 22 ! -s {} -j DROP"


@pytest.fixture
def pair(lab: Lab) -> Iterator[tuple[LabHost, LabHost]]:
    """h2 takes SSH from h1 only: who gets there came through the jump host."""
    h1, h2 = lab.fresh(2)
    h2.exec(BEHIND.format(h1.address))
    yield h1, h2
    h2.mend()


def write(cli: Cli, inventory: dict[str, object]) -> Path:
    path = cli.cwd / "inventory.yaml"
    path.write_text(yaml.safe_dump({"cluster": "ways", "image": SMALL_IMAGE, **inventory}))
    return path


def use(cli: Cli, inventory: Path, hosts: list[LabHost], env: dict[str, str] | None = None) -> None:
    """Up, seen, down: all of it goes the same way."""
    cli.run("up", inventory, env=env, check=0)
    assert cli.run("status", env=env, check=0).out.count("running") == len(hosts)
    assert all("hvdocker-ways-worker" in host.docker("ps", "--format", "{{.Names}}") for host in hosts)
    cli.run("down", env=env, check=0)
    assert left_of(hosts, "ways") == {}


def test_a_jump_host_of_the_inventory(lab: Lab, cli: Cli, pair: tuple[LabHost, LabHost]) -> None:
    h1, h2 = pair
    through = {"host": h2.address, "name": "h2", "ssh": {"jump": f"trainer@{h1.address}"}}
    ssh = {"user": "trainer", "key": str(lab.state.key)}
    use(cli, write(cli, {"ssh": ssh, "hosts": [{"host": h1.address, "name": "h1"}, through]}), [h1, h2])


def test_a_jump_host_of_ssh_config(lab: Lab, cli: Cli, pair: tuple[LabHost, LabHost]) -> None:
    h1, h2 = pair
    (cli.home / ".ssh" / "config").write_text(
        f"Host gate\n  HostName {h1.address}\nHost inner\n  HostName {h2.address}\n  ProxyJump gate\n"
        f"Host gate inner {h1.address}\n  User trainer\n  IdentityFile {lab.state.key}\n"
    )
    use(cli, write(cli, {"hosts": ["gate", "inner"]}), [h1, h2])


def test_a_jump_host_that_is_down_is_what_the_error_names(
    lab: Lab, cli: Cli, pair: tuple[LabHost, LabHost]
) -> None:
    h1, h2 = pair
    through = {"host": h2.address, "name": "h2", "ssh": {"jump": f"trainer@{h1.address}"}}
    inventory = write(cli, {"ssh": {"user": "trainer", "key": str(lab.state.key)}, "hosts": [through]})
    h1.stop_sshd()
    result = cli.run("up", inventory, check=4)
    assert "h2" in result.err and h1.address in result.err and "refuse" in result.err
    h1.start_sshd()


@pytest.fixture
def agent(lab: Lab, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A running agent that holds the lab's key; the key is in no file of the home."""
    socket = tmp_path / "agent"
    said = subprocess.run(
        ["ssh-agent", "-a", socket, "-s"], capture_output=True, text=True, check=True
    ).stdout
    pid = int(said.split("SSH_AGENT_PID=")[1].split(";")[0])
    env = {"SSH_AUTH_SOCK": str(socket)}
    try:
        subprocess.run(["ssh-add", "-q", lab.state.key], env={**os.environ, **env}, check=True)
        yield env
    finally:
        os.kill(pid, signal.SIGTERM)


def test_an_agent_holds_the_key(lab: Lab, cli: Cli, agent: dict[str, str]) -> None:
    h1, h2 = lab.fresh(2)
    inventory = write(cli, {"ssh": {"user": "trainer"}, "hosts": [h1.address, h2.address]})
    refused = cli.run("up", inventory, check=4)
    assert "no SSH key" in refused.err
    use(cli, inventory, [h1, h2], agent)


def test_an_agent_opens_the_jump_host_too(
    lab: Lab, cli: Cli, agent: dict[str, str], pair: tuple[LabHost, LabHost]
) -> None:
    h1, h2 = pair
    through = {"host": h2.address, "ssh": {"user": "trainer", "jump": f"trainer@{h1.address}"}}
    use(cli, write(cli, {"hosts": [through]}), [h2], agent)
