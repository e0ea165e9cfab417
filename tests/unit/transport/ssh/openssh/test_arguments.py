"""The command lines of ssh: what they say, and that ssh understands them."""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from hvdocker.transport.ssh.openssh.arguments import (
    LoginFiles,
    OpensshHop,
    command_arguments,
    known_hosts_text,
    login_arguments,
)
from hvdocker.transport.ssh.openssh.login import folder_for_sockets

FILES = LoginFiles("/tmp/x")
HOST = OpensshHop("hop-1", "10.0.0.5", 2222, "kim", "ssh-rsa", "AAAA", "rsa-sha2-512", "aes128-gcm@openssh.com")
JUMP = OpensshHop("hop-0", "fd00::1", 22, "gate", "ssh-ed25519", "BBBB", "ssh-ed25519", "aes256-ctr")


def ssh_words(*hops: OpensshHop) -> list[str]:
    """The words of ssh itself, which a shell starts."""
    words = login_arguments("ssh", hops, FILES)
    return words[words.index("ssh") :]


def options(words: Sequence[str]) -> dict[str, str]:
    """The settings of the -o options."""
    values = [after for word, after in pairwise(words) if word == "-o"]
    return dict(value.split("=", 1) for value in values)


def understood(words: list[str]) -> dict[str, str]:
    """What the ssh program itself makes of a command line."""
    said = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, check=True).stdout
    return dict(line.split(" ", 1) for line in said.splitlines() if " " in line)


def test_the_login_is_that_of_the_open_connection() -> None:
    words = ssh_words(HOST)
    assert words[:4] == ["ssh", "-T", "-F", "/dev/null"] and words[-3:] == ["--", "10.0.0.5", "exec cat"]
    found = understood(words)
    assert (found["hostname"], found["port"], found["user"]) == ("10.0.0.5", "2222", "kim")
    assert found["ciphers"] == "aes128-gcm@openssh.com"
    assert found["identityagent"] == "/tmp/x/agent"
    assert found["controlpath"] == "/tmp/x/control" and found["controlmaster"] == "true"
    assert "proxycommand" not in found


def test_only_the_host_key_that_was_shown_is_accepted_and_nobody_is_asked() -> None:
    found = understood(ssh_words(HOST))
    assert found["stricthostkeychecking"] == "true" and found["batchmode"] == "yes"
    assert found["userknownhostsfile"] == "/tmp/x/known_hosts" and found["globalknownhostsfile"] == "/dev/null"
    assert found["hostkeyalgorithms"] == "rsa-sha2-512" and found["updatehostkeys"] == "false"
    assert found["identityfile"] == "none"
    assert f"{found['hostkeyalias']} ssh-rsa AAAA\n" == known_hosts_text([HOST])


def test_a_jump_host_is_checked_in_the_same_way() -> None:
    words = ssh_words(JUMP, HOST)
    proxy = shlex.split(options(words)["ProxyCommand"])
    assert proxy[-4:] == ["-W", "[10.0.0.5]:2222", "--", "fd00::1"]
    inner = understood(proxy)
    assert (inner["hostname"], inner["user"], inner["stricthostkeychecking"]) == ("fd00::1", "gate", "true")
    assert inner["hostkeyalias"] != options(words)["HostKeyAlias"]
    assert known_hosts_text([JUMP, HOST]).count("\n") == 2


def test_a_chain_of_jump_hosts_is_nested() -> None:
    second = replace(JUMP, address="10.0.0.9", user="inner")
    outer = shlex.split(options(ssh_words(JUMP, second, HOST))["ProxyCommand"].replace("%%", "%"))
    assert outer[-3:] == ["[10.0.0.5]:2222", "--", "10.0.0.9"]
    inner = shlex.split(options(outer)["ProxyCommand"])
    assert inner[-3:] == ["[10.0.0.9]:22", "--", "fd00::1"]


def test_a_proxy_command_has_no_tokens_left() -> None:
    words = ssh_words(replace(HOST, proxy_command="nc -X 5 a%20b 22"))
    assert options(words)["ProxyCommand"] == "nc -X 5 a%%20b 22"


def test_a_command_uses_the_login_or_fails() -> None:
    words = command_arguments("ssh", "/tmp/x/control", "exec true")
    assert words[-3:] == ["--", "host", "exec true"]
    found = understood(words[:-1])
    assert found["controlpath"] == "/tmp/x/control" and found["controlmaster"] == "false"
    assert found["proxycommand"] == "false"


def test_old_versions_of_ssh_know_the_values() -> None:
    """A list that begins with `^` needs OpenSSH 8.1, and `IPQoS none` needs 7.6."""
    found = options(ssh_words(HOST))
    assert found["KexAlgorithms"].startswith("curve25519-sha256,")
    assert found["IPQoS"] == "cs0" and understood(ssh_words(HOST))["ipqos"] == "cs0 cs0"


@pytest.mark.parametrize(
    ("wanted", "folder"),
    [
        ("/tmp", "/tmp"),
        ("/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T", "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T"),
        ("/scratch/kim/with a space", "/tmp"),
        ("/scratch/%h", "/tmp"),
        ("/scratch/${USER}", "/tmp"),
        ("/scratch/'kim'", "/tmp"),
        ("/scratch/" + "long/" * 20, "/tmp"),
    ],
)
def test_ssh_understands_the_path_of_its_files(wanted: str, folder: str) -> None:
    assert folder_for_sockets(wanted) == folder
