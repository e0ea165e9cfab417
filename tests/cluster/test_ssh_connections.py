"""Connections to hosts: jump hosts, ~/.ssh/config, an agent, IPv6, a busy server."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.shell.command import command
from hvdocker.transport.pool import for_each_host
from hvdocker.transport.ssh.connect import Credentials
from hvdocker.transport.ssh.link import open_ssh
from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE
from tests.cluster.ssh_agent import add_key, running_agent
from tests.cluster.sshd import ipv6_forwarder, sshd_settings

BEHIND = "iptables -w -A INPUT -p tcp --dport 22 ! -s {} -j DROP"


@pytest.fixture
def pair(lab: Lab) -> Iterator[tuple[LabHost, LabHost]]:
    """h2 takes SSH from h1 only: who gets there came through the jump host."""
    h1, h2 = lab.fresh(2)
    h2.exec(BEHIND.format(h1.address))
    yield h1, h2
    h2.repair()


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
    assert cluster_leftovers(hosts, "ways") == {}


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


def test_a_jump_host_that_is_down_is_what_the_error_names(lab: Lab, cli: Cli, pair: tuple[LabHost, LabHost]) -> None:
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
    with running_agent(tmp_path) as env:
        add_key(env, lab.state.key)
        yield env


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


def test_a_banner_and_a_login_shell_that_talks(lab: Lab, cli: Cli) -> None:
    (host,) = lab.fresh(1)
    host.exec("printf 'Property of nobody.\\nSSH-2.0-not-a-version\\n' > /etc/ssh/banner")
    host.exec("cp /home/trainer/.bashrc /tmp/bashrc.kept; sed -i '1i echo welcome home' /home/trainer/.bashrc")
    try:
        with sshd_settings(host, "Banner /etc/ssh/banner"):
            ssh = {"user": "trainer", "key": str(lab.state.key)}
            use(cli, write(cli, {"ssh": ssh, "hosts": [host.address]}), [host])
    finally:
        host.exec("cp /tmp/bashrc.kept /home/trainer/.bashrc; rm /tmp/bashrc.kept")


@pytest.mark.parametrize("form", ["in brackets", "by setting"])
def test_a_host_that_is_reached_over_ipv6(lab: Lab, cli: Cli, form: str) -> None:
    """Unknown at first, then remembered under the name that ssh gives it too."""
    (host,) = lab.fresh(1)
    cli.pins_hosts = False
    known = cli.home / ".ssh" / "known_hosts"
    ssh = {"user": "trainer", "key": str(lab.state.key)}
    with ipv6_forwarder(host) as port:
        entry = f"[::1]:{port}" if form == "in brackets" else {"host": "::1", "ssh": {"port": port}}
        inventory = write(cli, {"ssh": ssh, "hosts": [entry]})
        refused = cli.run("up", inventory, check=4)
        assert "the host key is not known" in refused.err
        cli.run("up", inventory, "--accept-new-host-keys", "--dry-run", check=0)
        assert known.read_text().startswith(f"[::1]:{port} ssh-ed25519 ")
        cli.run("status", "-i", inventory, check=0)
        words = ["ssh", "-p", str(port), "-i", lab.state.key, "-o", f"UserKnownHostsFile={known}"]
        subprocess.run([*words, "-o", "BatchMode=yes", "trainer@::1", "true"], check=True)
    closed = cli.run("up", inventory, check=4)
    assert f"[::1]:{port} refuses connections" in closed.err


def test_a_server_that_takes_few_at_a_time_is_asked_again(lab: Lab) -> None:
    """Twenty connections at once to an sshd that drops all but two before they have logged in."""
    (host,) = lab.fresh(1)
    target = Host("h1", host.address, ssh=SshSettings(user="trainer", key=str(host.key())))
    credentials = Credentials()
    key = next(line for line in lab.state.known_hosts.read_text().splitlines() if host.address in line)
    credentials.accepted = {(host.address, key.split()[2])}
    since = int(time.time())
    with sshd_settings(host, "MaxStartups 2"):
        opened = for_each_host([str(number) for number in range(20)], lambda name: open_ssh(target, credentials))
        said = {link.run(command("echo", "here")).text for link in opened.or_raise("opening").values()}
        for link in opened.done.values():
            link.close()
    assert said == {"here\n"} and len(opened.done) == 20
    assert b"MaxStartups" in host.engine.logs(host.container, since=since)
