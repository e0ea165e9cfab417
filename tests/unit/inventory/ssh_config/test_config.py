"""~/.ssh/config, as OpenSSH reads it."""

from pathlib import Path

import fabric
import pytest

from hvdocker.errors import UsageProblem
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.inventory.origin import Setting
from hvdocker.inventory.ssh_config import config as ssh_config
from hvdocker.inventory.ssh_config.config import SshConfig


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


@pytest.mark.parametrize("line", ["nonsense", "Port many", "User #", 'User "a', "Match host", "Match host a user"])
def test_a_line_that_cannot_be_understood_is_named(home: Path, line: str) -> None:
    write(home, "Include more\n")
    write(home, f"User kim\n\n{line}\n", "more")
    with pytest.raises(UsageProblem, match=r"/\.ssh/more line 3 cannot be understood: ") as caught:
        load(home)
    assert caught.value.lines == (line,) and "ssh -G" in str(caught.value.fix)


def test_a_system_file_that_cannot_be_understood_is_left_out_and_that_is_said(home: Path) -> None:
    write(home, "User kim\n")
    (home / "etc" / "ssh_config").write_text("Port 7\nnonsense\n")
    config = load(home)
    assert config.lookup("a") == {"user": "kim", "hostname": "a"}
    [note] = config.notes
    assert "etc/ssh_config line 2 cannot be understood" in note and note.endswith("is left out")


def test_the_stock_file_of_fedora_is_no_trouble(home: Path) -> None:
    (home / "etc" / "ssh_config").write_text("Include ssh_config.d/*.conf\nHost *\n  Port 2200\n")
    (home / "etc" / "ssh_config.d").mkdir()
    (home / "etc" / "ssh_config.d" / "50-redhat.conf").write_text(
        "Match final all\n  Include backend.config\n  GSSAPIAuthentication yes\n  ForwardX11Trusted yes\n"
    )
    (home / "etc" / "backend.config").write_text("Ciphers aes256-gcm@openssh.com\n")
    config = load(home)
    assert config.notes == ()
    assert config.lookup("a") == {
        "port": "2200",
        "hostname": "a",
        "ciphers": "aes256-gcm@openssh.com",
        "gssapiauthentication": "yes",
        "forwardx11trusted": "yes",
    }


def test_fabric_and_paramiko_stumble_over_nothing(home: Path) -> None:
    write(home, "CanonicalizeHostname yes\nForwardAgent $SSH_AUTH_SOCK\nHost a\n  Port 2200\n")
    connection = fabric.Connection("a", config=fabric.Config(ssh_config=load(home)), forward_agent=False)
    assert (connection.host, connection.port) == ("a", 2200)


@pytest.mark.parametrize("rule", ["localnetwork 0.0.0.0/0", "!localnetwork 10.0.0.0/8", "version *", "command *"])
def test_what_cannot_be_known_does_not_hold(home: Path, rule: str) -> None:
    write(home, f"Match {rule}\n  User kim\nMatch host a {rule}\n  User kim\n")
    assert "user" not in load(home).lookup("a")


def test_a_name_that_must_be_canonical_and_is_not(home: Path) -> None:
    write(home, "CanonicalizeHostname yes\nCanonicalizeFallbackLocal no\n")
    with pytest.raises(UsageProblem, match="in none of the CanonicalDomains"):
        load(home).lookup("a")


def test_a_commands_quotes_are_its_own_and_none_is_none(home: Path) -> None:
    write(home, 'Host a\n  ProxyCommand "/my nc" %h "%p" # x\nHost b\n  ProxyCommand none\n  ProxyJump c\n')
    assert load(home).lookup("a")["proxycommand"] == '"/my nc" a "22" # x'
    assert "proxyjump" not in load(home).lookup("b") and "proxycommand" not in load(home).lookup("b")


def test_the_inventory_counts_then_the_users_file_then_the_systems(home: Path) -> None:
    write(home, "Host a\n  User kim\n  HostName 10.0.0.1\n  IdentityFile ~/.ssh/lab\n")
    write(home, "no key", "lab")
    (home / "etc" / "ssh_config").write_text("Host a\n  User nobody\n  Port 2200\n  ProxyJump hop\n")
    reach = load(home).effective_ssh(Host("a", "a"), {})
    assert reach.user == Setting("kim", "~/.ssh/config")
    assert reach.port == Setting(2200, str(home / "etc" / "ssh_config"))
    assert reach.jump == Setting("hop", str(home / "etc" / "ssh_config"))
    assert reach.address == Setting("10.0.0.1", "~/.ssh/config")
    assert reach.keys == (str(home / ".ssh" / "lab"),)
    own = load(home).effective_ssh(Host("a", "a", ssh=SshSettings("root", 22, "/k", "none")), {"user": "line 3"})
    assert own.user == Setting("root", "line 3")
    assert (own.port.value, own.key.value, own.jump.value, own.keys) == (22, "/k", None, ())


def test_without_a_word_openssh_decides(home: Path) -> None:
    reach = load(home).effective_ssh(Host("a", "a"), {})
    assert (reach.port, reach.address, reach.keys) == (Setting(22, "OpenSSH's default"), None, ())
    assert reach.user.origin == "OpenSSH's default" and reach.user.value
