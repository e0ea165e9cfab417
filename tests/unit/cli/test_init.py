"""hvdocker init through the installed program: without a terminal, and on one."""

import os
from pathlib import Path

import pytest

from hvdocker.inventory.parse import parse
from tests.cluster.cli import Cli
from tests.cluster.terminal import Terminal
from tests.unit.cli.installed_cli import installed_cli

CONFIG = """\
Include more
Host gpu-a gpu-b
  User trainer
Host gpu-a
  HostName 10.0.0.11
Host 12 "evil $(touch x)" *.lab
Host *
  ServerAliveInterval 5
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = installed_cli(tmp_path)
    (cli.home / ".ssh" / "config").write_text(CONFIG)
    (cli.home / ".ssh" / "more").write_text("Host far\n  ProxyJump gpu-a\n")
    return cli


def hosts(cli: Cli, name: str = "inventory.yaml") -> list[str]:
    return [host.host for host in parse((cli.cwd / name).read_text(), name, "here").hosts]


def test_hosts_by_flag(cli: Cli) -> None:
    result = cli.run("init", "--no-doctor", "--hosts", "gpu-a, kim@10.0.0.9,,gpu-a", check=0)
    assert hosts(cli) == ["gpu-a", "10.0.0.9"]
    assert result.out == f"wrote {cli.cwd}/inventory.yaml: 2 hosts\n"
    assert "next: hvdocker doctor inventory.yaml" in result.err
    assert [path.name for path in cli.cwd.iterdir()] == ["inventory.yaml"]


def test_the_next_command_names_the_file_where_it_is(cli: Cli, tmp_path: Path) -> None:
    (cli.cwd / "lab").mkdir()
    told = cli.run("init", "lab/inventory.yaml", "--no-doctor", "--hosts", "a", check=0)
    assert "next: hvdocker doctor lab/inventory.yaml\n" in told.err
    told = cli.run("init", "../far.yaml", "--no-doctor", "--hosts", "a", check=0)
    assert f"next: hvdocker doctor {tmp_path}/far.yaml\n" in told.err


def test_all_hosts_of_the_ssh_config(cli: Cli) -> None:
    result = cli.run("init", "--no-doctor", "lab.yaml", "--all-ssh-hosts", check=0)
    assert hosts(cli, "lab.yaml") == ["far", "gpu-a", "gpu-b", "12"]
    assert "left out, no inventory can name them: evil $(touch x)" in result.err
    written = (cli.cwd / "lab.yaml").read_text()
    assert "trainer" not in written and "10.0.0.11" not in written


def test_without_hosts_the_file_offers_them_and_says_so(cli: Cli) -> None:
    result = cli.run("init", check=0)
    assert "fill in `hosts:`" in result.err and "next:" not in result.err
    assert "  #- gpu-a\n" in (cli.cwd / "inventory.yaml").read_text()
    assert "hosts (line 10): should be a list of at least one host" in cli.run("config", check=2).err


def test_hosts_of_a_hostfile(cli: Cli) -> None:
    (cli.cwd / "hostfile").write_text("gpu-a slots=4\ngpu-b slots=2\n")
    assert "wrote" in cli.run("init", "--no-doctor", "--from", "hostfile", check=0).out
    text = (cli.cwd / "inventory.yaml").read_text()
    assert [(host.host, host.slots) for host in parse(text, "x", "here").hosts] == [("gpu-a", 4), ("gpu-b", 2)]


def test_a_hostfile_with_an_impossible_host_is_refused(cli: Cli) -> None:
    (cli.cwd / "hostfile").write_text("gpu-a slots=0\ngpu-b slots=5000\n")
    result = cli.run("init", "--no-doctor", "--from", "hostfile", check=2)
    assert (
        "hostfile has 1 problem" in result.err
        and "    slots of gpu-b should be between 1 and 4096, got 5000" in result.err
    )
    assert [path.name for path in cli.cwd.iterdir()] == ["hostfile"]


def test_a_file_that_is_there_stays(cli: Cli) -> None:
    path = cli.cwd / "inventory.yaml"
    path.write_text("mine")
    result = cli.run("init", "--no-doctor", "--hosts", "a", check=2)
    assert f"{path} is already there" in result.err and "--force" in result.err
    assert path.read_text() == "mine"
    cli.run("init", "--no-doctor", "--hosts", "a", "--force", check=0)
    assert hosts(cli) == ["a"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere/x.yaml", "--hosts", "a"), "there is no folder"),
        ((".", "--hosts", "a"), "is a folder"),
        (("--hosts", "a b"), "a host should be a host name or an address, got 'a b'"),
        (("--hosts", "a,kim@a"), "the list of hosts has 1 problem"),
        (("--hosts", "a", "--", "b"), "takes nothing after --"),
    ],
)
def test_what_cannot_be_written_is_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    result = cli.run("init", "--no-doctor", *words, check=2)
    assert said in result.err and result.out == ""
    assert list(cli.cwd.iterdir()) == []


def test_no_hosts_to_take_all_of(cli: Cli) -> None:
    (cli.home / ".ssh" / "config").unlink()
    assert "~/.ssh/config names no hosts" in cli.run("init", "--no-doctor", "--all-ssh-hosts", check=2).err


def test_git_is_told_of_only_where_it_is(cli: Cli) -> None:
    (cli.cwd / ".git").mkdir()
    assert "echo .hvdocker/ >> .gitignore" in cli.run("init", "--no-doctor", "--hosts", "a", check=0).err
    (cli.cwd / ".gitignore").write_text(".hvdocker/\n")
    assert ".gitignore" not in cli.run("init", "--no-doctor", "--hosts", "a", "--force", check=0).err


def test_what_the_umask_allows_others_may_read(cli: Cli) -> None:
    cli.run("init", "--no-doctor", "--hosts", "a", check=0)
    mask = os.umask(0)
    os.umask(mask)
    assert (cli.cwd / "inventory.yaml").stat().st_mode & 0o777 == 0o666 & ~mask


def test_on_a_terminal_hosts_are_chosen_from_a_list(cli: Cli) -> None:
    terminal = Terminal(cli, "init", "--no-doctor")
    terminal.wait_for("which? (1,3-4, all, or names)")
    assert "1  far" in terminal.screen and "2  gpu-a  10.0.0.11, user trainer" in terminal.screen
    terminal.type("2-9\n")
    terminal.wait_for("2-9 is not in the list: it goes from 1 to 4")
    terminal.wait_for("which?", times=2)
    terminal.type("a;b\n")
    terminal.wait_for("should be a host name or an address")
    terminal.wait_for("which?", times=3)
    terminal.type("2-3, kim@other\n")
    assert terminal.end() == 0
    assert hosts(cli) == ["gpu-a", "gpu-b", "other"]


def test_the_list_shows_port_and_jump_host_and_no_server_of_git(cli: Cli) -> None:
    (cli.home / ".ssh" / "config").write_text(
        "Host gpu-a\n  Port 2222\n  ProxyJump bastion\nHost github.com\n  User git\nHost gpu-b\n"
    )
    terminal = Terminal(cli, "init", "--no-doctor")
    terminal.wait_for("all, or names): ")
    assert "1  gpu-a  :2222, via bastion" in terminal.screen and "2  gpu-b" in terminal.screen
    assert "github.com" not in terminal.screen
    terminal.type("\x03")
    assert terminal.end() == 130


def test_ctrl_c_at_the_list_writes_nothing(cli: Cli) -> None:
    terminal = Terminal(cli, "init", "--no-doctor")
    terminal.wait_for("all, or names): ")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert list(cli.cwd.iterdir()) == []


def test_on_a_terminal_without_a_config_hosts_are_typed_or_left_out(cli: Cli) -> None:
    (cli.home / ".ssh" / "config").unlink()
    terminal = Terminal(cli, "init", "--no-doctor")
    terminal.wait_for("hosts (a, user@b")
    terminal.type("\n")
    assert terminal.end() == 0
    assert "fill in `hosts:`" in terminal.screen
