"""The agent's socket, as IdentityAgent in ~/.ssh/config says, and a real agent that answers there."""

import socket
import subprocess
from pathlib import Path

import paramiko
import pytest

from hvdocker.inventory.inventory import Host
from hvdocker.transport.ssh.agent import AGENT_PRIVATE_NAMES, Agent, agent_socket
from hvdocker.transport.ssh.link import open_ssh
from tests.cluster.ssh_agent import add_key, running_agent
from tests.unit.transport.ssh.ssh_server import SshServer

TOKENS = {"%%": "%", "%d": "/home/kim", "%h": "10.0.0.5", "%i": "1000", "%u": "kim"}
ENVIRON = {"SSH_AUTH_SOCK": "/run/agent", "MINE": "/run/mine"}


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        (None, "/run/agent"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("none", ""),
        ("/run/other", "/run/other"),
        ("~/.1password/agent.sock", "/home/kim/.1password/agent.sock"),
        ("$MINE", "/run/mine"),
        ("$MISSING", ""),
        ("${MINE}/x", "/run/mine/x"),
        ("/run/user/%i/%h%%", "/run/user/1000/10.0.0.5%"),
        ("%d/agent", "/home/kim/agent"),
    ],
)
def test_which_socket_is_meant(setting: str | None, path: str) -> None:
    assert agent_socket(setting, TOKENS, ENVIRON) == path


def test_no_agent_without_the_variable() -> None:
    assert agent_socket(None, TOKENS, {}) == ""


@pytest.mark.parametrize("part", AGENT_PRIVATE_NAMES)
def test_the_private_parts_of_paramikos_agent_that_we_use_are_there(part: str) -> None:
    assert callable(getattr(paramiko.agent.AgentSSH, part))


def test_an_agent_that_is_gone_has_no_keys(tmp_path: Path) -> None:
    agent = Agent(str(tmp_path / "gone"))
    assert (agent.is_there, agent.keys) == (False, [])
    agent.close()


def test_an_agent_that_never_answers_has_no_keys(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(str(tmp_path / "agent"))
        silent.listen()
        agent = Agent(str(tmp_path / "agent"), timeout_s=0.1)
    assert not agent.is_there and agent.keys == []


@pytest.mark.parametrize("setting", ["{folder}/agent", "~/agent", "$ELSEWHERE"])
def test_a_key_that_only_the_agent_of_ssh_config_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nobody"))
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "agent"))
    server = SshServer(tmp_path)
    (tmp_path / ".ssh" / "id_ed25519").unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "vault", "-f", tmp_path / "key"], check=True)
    text = f"Host a\n  HostName 127.0.0.1\n  Port {server.port}\n  IdentityAgent {setting.format(folder=tmp_path)}\n"
    (tmp_path / ".ssh" / "config").write_text(text)
    try:
        with running_agent(tmp_path) as environ:
            add_key(environ, tmp_path / "key")
            link = open_ssh(Host("a", "a"))
            assert "vault (agent)" in link.login
            link.close()
    finally:
        server.close()
