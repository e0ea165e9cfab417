"""~/.ssh/config, as OpenSSH reads it."""

from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.hosts import ssh_config
from hvdocker.hosts.ssh_config import SshConfig
from hvdocker.model.inventory import Host, SshSettings
from hvdocker.model.origin import Setting


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh" / "conf.d").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    return tmp_path


def load(home: Path) -> SshConfig:
    return ssh_config.load(home, home / "etc" / "ssh_config")


def write(home: Path, text: str, name: str = "config") -> None:
    (home / ".ssh" / name).write_text(text)


def test_hosts_by_name_in_their_order(home: Path) -> None:
    write(home, 'Host b a\nHost *.lab !c d?\nHost = "e f"\nhost\tb g\nMatch host x\n  User y\nHost *\n')
    assert load(home).hosts == ("b", "a", "e f", "g")


def test_no_file_no_hosts(home: Path) -> None:
    assert load(home).hosts == ()


def test_includes_are_followed_wherever_they_stand(home: Path) -> None:
    write(
        home,
        "Include conf.d/* ~/.ssh/more nowhere\nHost a\n  Include a.conf\n  Port 7\nHost *\n  User last\n",
    )
    write(home, "Host one\n  HostName 10.0.0.1\n", "conf.d/1")
    write(home, "Host two\n  User kim\n", "conf.d/2")
    write(home, "Host three\n", "more")
    write(home, "User inside\n", "a.conf")
    config = load(home)
    assert config.hosts == ("one", "two", "three", "a")
    assert config.lookup("one")["hostname"] == "10.0.0.1"
    assert config.lookup("two")["user"] == "kim"
    assert (config.lookup("a")["user"], config.lookup("a")["port"]) == ("inside", "7")
    assert config.lookup("three")["user"] == "last" and "port" not in config.lookup("three")


def test_files_that_include_each_other_end(home: Path) -> None:
    write(home, "Include config\nInclude other\nInclude other\nHost a\n")
    write(home, "Include config\nInclude other\nHost b\n", "other")
    assert load(home).hosts == ("b", "a")


def test_a_file_that_cannot_be_understood_is_named(home: Path) -> None:
    write(home, "nonsense\n")
    with pytest.raises(UsageProblem, match=r"~/\.ssh/config .* cannot be understood"):
        load(home)


def test_the_inventory_counts_then_the_users_file_then_the_systems(home: Path) -> None:
    write(home, "Host a\n  User kim\n  HostName 10.0.0.1\n  IdentityFile ~/.ssh/lab\n")
    write(home, "no key", "lab")
    (home / "etc" / "ssh_config").write_text("Host a\n  User nobody\n  Port 2200\n  ProxyJump hop\n")
    reach = load(home).reach(Host("a", "a"), {})
    assert reach.user == Setting("kim", "~/.ssh/config")
    assert reach.port == Setting(2200, str(home / "etc" / "ssh_config"))
    assert reach.jump == Setting("hop", str(home / "etc" / "ssh_config"))
    assert reach.address == Setting("10.0.0.1", "~/.ssh/config")
    assert reach.keys == (str(home / ".ssh" / "lab"),)
    own = load(home).reach(Host("a", "a", ssh=SshSettings("root", 22, "/k", "none")), {"user": "line 3"})
    assert own.user == Setting("root", "line 3")
    assert (own.port.value, own.key.value, own.jump.value, own.keys) == (22, "/k", None, ())


def test_without_a_word_openssh_decides(home: Path) -> None:
    reach = load(home).reach(Host("a", "a"), {})
    assert (reach.port, reach.address, reach.keys) == (Setting(22, "OpenSSH's default"), None, ())
    assert reach.user.origin == "OpenSSH's default" and reach.user.value
