"""Who may log in, and with what: locked keys, certificates, agents; on real servers."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.cli import Cli, Result
from tests.cluster.lab import Lab, LabHost
from tests.cluster.ssh_agent import add_key, running_agent
from tests.cluster.sshd import sshd_settings
from tests.cluster.terminal import Terminal

SECRET = "open sesame"
QUESTION = "Passphrase of"


def write(cli: Cli, hosts: list[LabHost], **ssh: object) -> str:
    path = cli.cwd / "inventory.yaml"
    named = [{"host": host.address, "name": host.name} for host in hosts]
    path.write_text(yaml.safe_dump({"cluster": "login", "ssh": {"user": "trainer", **ssh}, "hosts": named}))
    return str(path)


def look(cli: Cli, inventory: str, check: int = 0, env: dict[str, str] | None = None) -> Result:
    """The verb that only looks: it reaches every host and its engine, or says why not."""
    result = cli.run("status", "-i", inventory, env=env, check=check)
    assert "Traceback" not in result.err
    return result


def make_key(path: Path, kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", path], check=True)
    return path


@pytest.fixture
def locked(lab: Lab, tmp_path: Path) -> Path:
    """The key that the hosts accept, behind a passphrase."""
    path = tmp_path / "locked"
    shutil.copy(lab.state.key, path)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", SECRET, "-f", path], check=True)
    return path


def test_a_passphrase_is_asked_once_for_all_hosts(lab: Lab, cli: Cli, locked: Path) -> None:
    inventory = write(cli, lab.ensure(2), key=str(locked))
    terminal = Terminal(cli, "status", "-i", inventory)
    terminal.wait_for(f"{QUESTION} {locked}")
    terminal.type("wrong\n")
    terminal.wait_for(QUESTION, times=2)
    terminal.type(f"{SECRET}\n")
    assert terminal.end() == 0
    assert terminal.screen.count(QUESTION) == 2
    assert "sesame" not in terminal.screen and "wrong" not in terminal.screen
    assert "h1" in terminal.screen and "h2" in terminal.screen


def test_a_passphrase_that_is_wrong_three_times_is_an_error(lab: Lab, cli: Cli, locked: Path) -> None:
    terminal = Terminal(cli, "up", write(cli, lab.ensure(2), key=str(locked)))
    for times in (1, 2, 3):
        terminal.wait_for(QUESTION, times)
        terminal.type("wrong\n")
    assert terminal.end() == 4
    assert terminal.screen.count(QUESTION) == 3
    assert f"{locked} did not open" in terminal.screen and "ssh-add" in terminal.screen


def test_ctrl_c_at_the_passphrase_ends_with_130(lab: Lab, cli: Cli, locked: Path) -> None:
    terminal = Terminal(cli, "up", write(cli, lab.ensure(1), key=str(locked)))
    terminal.wait_for(QUESTION)
    terminal.type("\x03")
    assert terminal.end() == 130


def test_where_nobody_can_answer_a_locked_key_says_what_to_do(lab: Lab, cli: Cli, locked: Path) -> None:
    result = cli.run("up", write(cli, lab.ensure(2), key=str(locked)), check=4)
    assert f"the SSH key {locked} is protected by a passphrase" in result.err
    assert f"→ load it into an agent first: ssh-add {locked}" in result.err
    assert "h1" in result.err and "h2" in result.err


def test_a_locked_key_that_the_agent_holds_is_not_asked_about(lab: Lab, cli: Cli, locked: Path, tmp_path: Path) -> None:
    inventory = write(cli, lab.ensure(1), key=str(locked))
    with running_agent(tmp_path) as env:
        add_key(env, lab.state.key)
        look(cli, inventory, env=env)
    look(cli, inventory, check=4)


@pytest.fixture(scope="module")
def authority(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A certificate authority that h1 believes, for its users."""
    (host,) = lab.ensure(1)
    path = make_key(tmp_path_factory.mktemp("authority") / "ca")
    host.exec(["sh", "-c", 'echo "$1" > /etc/ssh/users.pub', "sh", path.with_suffix(".pub").read_text()])
    with sshd_settings(host, "TrustedUserCAKeys /etc/ssh/users.pub"):
        yield path


def certify(authority: Path, key: Path) -> Path:
    words = ["ssh-keygen", "-q", "-s", authority, "-I", "test", "-n", "trainer", f"{key}.pub"]
    subprocess.run(words, check=True)
    return key.with_name(f"{key.name}-cert.pub")


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_beside_the_key(lab: Lab, cli: Cli, authority: Path, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "id", kind)
    inventory = write(cli, lab.ensure(1), key=str(key))
    assert "no SSH key was accepted" in cli.run("up", inventory, check=4).err
    certify(authority, key)
    look(cli, inventory)


def test_a_certificate_named_in_ssh_config(lab: Lab, cli: Cli, authority: Path, tmp_path: Path) -> None:
    key = make_key(tmp_path / "id")
    elsewhere = certify(authority, key).rename(tmp_path / "mine.pub")
    inventory = write(cli, lab.ensure(1), key=str(key))
    look(cli, inventory, check=4)
    (cli.home / ".ssh" / "config").write_text(f"Host *\n  CertificateFile {elsewhere}\n")
    look(cli, inventory)


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_a_certificate_in_the_agent(lab: Lab, cli: Cli, authority: Path, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "id", kind)
    certify(authority, key)
    with running_agent(tmp_path) as env:
        add_key(env, key)
        key.unlink()
        look(cli, write(cli, lab.ensure(1)), env=env)


def test_an_expired_certificate_is_refused(lab: Lab, cli: Cli, authority: Path, tmp_path: Path) -> None:
    key = make_key(tmp_path / "id")
    words = ["ssh-keygen", "-q", "-s", authority, "-I", "x", "-n", "trainer", "-V", "20200101:20200102"]
    subprocess.run([*words, f"{key}.pub"], check=True)
    result = cli.run("up", write(cli, lab.ensure(1), key=str(key)), check=4)
    assert "no SSH key was accepted" in result.err and f"{key}-cert.pub" in result.err


def test_a_host_certificate_is_told_as_what_cannot_be_checked(lab: Lab, cli: Cli, tmp_path: Path) -> None:
    (host,) = lab.ensure(1)
    authority = make_key(tmp_path / "ca")
    public = tmp_path / "host.pub"
    public.write_text(host.exec("cat /etc/ssh/ssh_host_ed25519_key.pub"))
    words = ["ssh-keygen", "-q", "-s", authority, "-I", "h1", "-h", "-n", host.address, public]
    subprocess.run(words, check=True)
    certificate = (tmp_path / "host-cert.pub").read_text()
    host.exec(["sh", "-c", 'echo "$1" > /etc/ssh/host-cert.pub', "sh", certificate])
    inventory = write(cli, [host], key=str(lab.state.key))
    known = cli.home / ".ssh" / "known_hosts"
    with sshd_settings(host, "HostCertificate /etc/ssh/host-cert.pub"):
        look(cli, inventory)  # its plain key is known: the certificate is in nobody's way
        cli.pins_hosts = False
        line = f"@cert-authority 198.18.* {authority.with_suffix('.pub').read_text()}"
        known.write_text(line)
        result = cli.run("up", inventory, check=4)
    assert "the host key is not known" in result.err and "--accept-new-host-keys" in result.err
    assert "@cert-authority" in result.err and "paramiko does not know them" in result.err
    assert known.read_text() == line


def test_a_revoked_host_key_is_refused(lab: Lab, cli: Cli) -> None:
    (host,) = lab.ensure(1)
    pinned = lab.state.known_hosts.read_text()
    key = next(line.split(" ", 1)[1] for line in pinned.splitlines() if line.startswith(f"{host.address} "))
    cli.pins_hosts = False
    (cli.home / ".ssh" / "known_hosts").write_text(f"{pinned}@revoked * {key}\n")
    inventory = write(cli, [host], key=str(lab.state.key))
    assert "the host key is revoked" in cli.run("up", inventory, "--accept-new-host-keys", check=4).err
