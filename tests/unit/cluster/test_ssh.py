"""The words that open a shell; no host is touched."""

import os
import pwd
from pathlib import Path

import pytest

from hvdocker.cluster.ssh import machine_argv, replace_process
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.transport.ssh.framing import login_shell_line
from tests.unit.builders import inventory

LAB = inventory(
    "ssh: {user: ada, port: 2222, key: /k, jump: bastion}\nhosts: [a, {host: gpu-b, name: b, ssh: {user: bob}}]"
)


def words(tmp_path: Path, name: str, *rest: str, has_terminal: bool = True) -> tuple[str, ...]:
    located = Located(LAB, tmp_path / "inventory.yaml")
    return machine_argv(Env(cwd=tmp_path), located, name, rest, has_terminal)


@pytest.fixture(autouse=True)
def usual_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)


def test_on_the_machine(tmp_path: Path) -> None:
    way = ("-p", "2222", "-i", "/k", "-J", "bastion")
    assert words(tmp_path, "a") == ("ssh", *way, "ada@a")
    assert words(tmp_path, "b", "ls", "a  b", "$HOME") == (
        "ssh",
        "-t",
        *way,
        "bob@gpu-b",
        login_shell_line("ls 'a  b' '$HOME'").decode(),
    )
    assert words(tmp_path, "b", "ls", has_terminal=False) == ("ssh", *way, "bob@gpu-b", login_shell_line("ls").decode())


def test_where_home_is_another_than_openssh_thinks_its_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    known = f"UserKnownHostsFile={tmp_path}/.ssh/known_hosts"
    assert words(tmp_path, "a")[:3] == ("ssh", "-o", known)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").touch()
    assert words(tmp_path, "a")[:5] == ("ssh", "-F", f"{tmp_path}/.ssh/config", "-o", known)


def test_a_host_that_is_not_in_the_inventory(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no host x"):
        words(tmp_path, "x")


def test_the_machine_of_a_local_worker_is_this_one(tmp_path: Path) -> None:
    located = Located(inventory("local: 2"), tmp_path / "inventory.yaml")
    with pytest.raises(UsageProblem, match="this very machine"):
        machine_argv(Env(cwd=tmp_path), located, "w1", (), True)


def test_no_such_program_here() -> None:
    with pytest.raises(HvdockerError, match="this machine has no no-such-program program"):
        replace_process(("no-such-program", "-t"))
