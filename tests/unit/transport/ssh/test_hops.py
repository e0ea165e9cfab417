"""An error names the server that failed: the jump host, or the host itself where ~/.ssh/config has it."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.inventory.locate import Located
from hvdocker.transport.session import connected
from hvdocker.transport.ssh.link import open_ssh
from tests.unit.builders import inventory
from tests.unit.transport.ssh.ssh_server import SshServer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture
def server(home: Path) -> Iterator[SshServer]:
    server = SshServer(home)
    yield server
    server.close()


@pytest.fixture
def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def failure(host: Host) -> HvdockerError:
    with pytest.raises(HostUnreachable) as caught:
        open_ssh(host)
    return caught.value


def test_an_alias_is_told_with_the_address_and_port_of_ssh_config(home: Path, closed_port: int) -> None:
    (home / ".ssh" / "config").write_text(f"Host alias1\n  HostName 127.0.0.1\n  Port {closed_port}\n  User kim\n")
    told = failure(Host("alias1", "alias1"))
    assert str(told) == f"alias1: 127.0.0.1:{closed_port} refuses connections"
    assert told.command == "ssh alias1 true"


@pytest.mark.parametrize("where", ["inventory", "ssh_config"])
def test_a_jump_host_that_refuses_is_the_one_that_is_named(home: Path, closed_port: int, where: str) -> None:
    jump = f"kim@127.0.0.1:{closed_port}"
    (home / ".ssh" / "config").write_text("" if where == "inventory" else f"Host far\n  ProxyJump {jump}\n")
    told = failure(Host("far", "far", ssh=SshSettings(jump=jump if where == "inventory" else None)))
    assert str(told) == f"far: the jump host 127.0.0.1:{closed_port} refuses connections"
    assert told.command == f"ssh -p {closed_port} kim@127.0.0.1 true"


def test_a_jump_host_whose_name_does_not_resolve(home: Path) -> None:
    told = failure(Host("a", "127.0.0.1", ssh=SshSettings(jump="bastion.invalid")))
    assert str(told) == "a: the name bastion.invalid of the jump host does not resolve"
    assert told.command == "getent hosts bastion.invalid"


def test_the_second_jump_host_of_a_chain_is_named_with_the_way_to_it(server: SshServer) -> None:
    first = f"kim@127.0.0.1:{server.port}"
    told = failure(Host("far", "far", ssh=SshSettings(jump=f"{first},second")))
    assert told.what == f"the jump host {first} could not connect to the jump host second:22"
    assert told.command == f"ssh -J {first} second true"
    assert told.fix and "AllowTcpForwarding" in told.fix


def test_a_host_behind_a_jump_host_that_answers(server: SshServer) -> None:
    first = f"kim@127.0.0.1:{server.port}"
    told = failure(Host("far", "10.0.0.5", ssh=SshSettings(jump=first)))
    assert told.what == f"the jump host {first} could not connect to 10.0.0.5:22"
    assert told.command == f"ssh -J {first} 10.0.0.5 true"


def test_two_hosts_at_one_address_are_told(home: Path, server: SshServer) -> None:
    (home / ".ssh" / "config").write_text(f"Host *\n  HostName 127.0.0.1\n  Port {server.port}\n  User kim\n")
    notes: list[str] = []
    env = Env(cwd=home, listener=lambda event: notes.append(event.text))
    located = Located(inventory("hosts: [gpu-a, gpu-b]"), home / "inventory.yaml")
    with connected(env, located) as session:
        assert sorted(session.links) == ["gpu-a", "gpu-b"]
    assert [note for note in notes if "one address" in note] == [
        f"gpu-a and gpu-b are reached at one address, 127.0.0.1:{server.port}; see `host:` and ~/.ssh/config"
    ]
