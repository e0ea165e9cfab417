"""The command lines of ssh: what they say, and that ssh understands them."""

import shlex
import subprocess
from dataclasses import replace
from itertools import pairwise

from hvdocker.transport.ssh.openssh.arguments import (
    LoginFiles,
    OpensshHop,
    command_arguments,
    known_hosts_text,
    login_arguments,
)

FILES = LoginFiles("/tmp/x/known_hosts", "/tmp/x/agent", "/tmp/x/control")
HOST = OpensshHop("hop-1", "10.0.0.5", 2222, "kim", "ssh-rsa", "AAAA", "rsa-sha2-512", "aes128-gcm@openssh.com")
JUMP = OpensshHop("hop-0", "fd00::1", 22, "gate", "ssh-ed25519", "BBBB", "ssh-ed25519", "aes256-ctr")


def options(words: list[str]) -> dict[str, str]:
    """The settings of the -o options."""
    values = [after for word, after in pairwise(words) if word == "-o"]
    return dict(value.split("=", 1) for value in values)


def understood(words: list[str]) -> dict[str, str]:
    """What the ssh program itself makes of a command line."""
    said = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, check=True).stdout
    return dict(line.split(" ", 1) for line in said.splitlines() if " " in line)


def test_the_login_is_that_of_the_open_connection() -> None:
    words = login_arguments("ssh", [HOST], FILES)
    assert words[:4] == ["ssh", "-T", "-F", "/dev/null"] and words[-3:] == ["--", "10.0.0.5", "exec cat"]
    found = understood(words)
    assert (found["hostname"], found["port"], found["user"]) == ("10.0.0.5", "2222", "kim")
    assert found["ciphers"] == "aes128-gcm@openssh.com"
    assert found["identityagent"] == "/tmp/x/agent"
    assert found["controlpath"] == "/tmp/x/control" and found["controlmaster"] == "true"
    assert "proxycommand" not in found


def test_only_the_host_key_that_was_shown_is_accepted_and_nobody_is_asked() -> None:
    found = understood(login_arguments("ssh", [HOST], FILES))
    assert found["stricthostkeychecking"] == "true" and found["batchmode"] == "yes"
    assert found["userknownhostsfile"] == "/tmp/x/known_hosts" and found["globalknownhostsfile"] == "/dev/null"
    assert found["hostkeyalgorithms"] == "rsa-sha2-512" and found["updatehostkeys"] == "false"
    assert found["identityfile"] == "none"
    assert f"{found['hostkeyalias']} ssh-rsa AAAA\n" == known_hosts_text([HOST])


def test_a_jump_host_is_checked_in_the_same_way() -> None:
    words = login_arguments("ssh", [JUMP, HOST], FILES)
    proxy = shlex.split(options(words)["ProxyCommand"])
    assert proxy[-4:] == ["-W", "[10.0.0.5]:2222", "--", "fd00::1"]
    inner = understood(proxy)
    assert (inner["hostname"], inner["user"], inner["stricthostkeychecking"]) == ("fd00::1", "gate", "true")
    assert inner["hostkeyalias"] != options(words)["HostKeyAlias"]
    assert known_hosts_text([JUMP, HOST]).count("\n") == 2


def test_a_chain_of_jump_hosts_is_nested() -> None:
    second = replace(JUMP, address="10.0.0.9", user="inner")
    outer = shlex.split(options(login_arguments("ssh", [JUMP, second, HOST], FILES))["ProxyCommand"].replace("%%", "%"))
    assert outer[-3:] == ["[10.0.0.5]:2222", "--", "10.0.0.9"]
    inner = shlex.split(options(outer)["ProxyCommand"])
    assert inner[-3:] == ["[10.0.0.9]:22", "--", "fd00::1"]


def test_a_proxy_command_has_no_tokens_left() -> None:
    words = login_arguments("ssh", [replace(HOST, proxy_command="nc -X 5 a%20b 22")], FILES)
    assert options(words)["ProxyCommand"] == "nc -X 5 a%%20b 22"


def test_a_command_uses_the_login_or_fails() -> None:
    words = command_arguments("ssh", "/tmp/x/control", "exec true")
    assert words[-3:] == ["--", "host", "exec true"]
    found = understood(words[:-1])
    assert found["controlpath"] == "/tmp/x/control" and found["controlmaster"] == "false"
    assert found["proxycommand"] == "false"
