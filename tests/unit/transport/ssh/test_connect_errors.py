"""What a failed connection says: which server failed, where it really is, and what to do there."""

import shlex
import socket
from dataclasses import replace
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError
from hvdocker.transport.ssh.connect_errors import HandshakeTimeout, Hop, connecting, files_to_clean, ssh_copy_id_command

HOST = Hop("gpu-a", 22, "kim", "gpu-a", "ssh gpu-a true")
ELSEWHERE = Hop("10.0.0.5", 2222, "kim", "[10.0.0.5]:2222", "ssh gpu-a true")
JUMP = Hop("bastion", 22, "kim", "bastion", "ssh kim@bastion true", is_jump=True)
BEHIND = Hop("10.0.0.5", 22, "kim", "10.0.0.5", "ssh -J kim@bastion 10.0.0.5 true", through="kim@bastion:22")


def connect_failure(error: Exception, hop: Hop | None = HOST) -> HvdockerError:
    with pytest.raises(HvdockerError) as caught, connecting("a", lambda: hop, 10):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the name gpu-a does not resolve"),
        (ConnectionRefusedError(111, "Connection refused"), "gpu-a:22 refuses connections"),
        (TimeoutError("timed out"), "gpu-a:22 did not answer in 10 s"),
        (
            HandshakeTimeout("handshake", 30),
            "gpu-a:22 answered, but did not finish the SSH handshake in 30 s",
        ),
        (paramiko.AuthenticationException("no"), "no SSH key was accepted"),
        (paramiko.SSHException("odd"), "could not open an SSH connection to gpu-a:22"),
        (
            paramiko.SSHException("Error reading SSH protocol banner"),
            "gpu-a:22 closed the connection before the login, again and again",
        ),
        (OSError(113, "No route to host"), "could not open an SSH connection to gpu-a:22"),
        (EOFError(), "gpu-a:22 closed the connection before the login, again and again"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_whatever_happens_while_connecting_the_host_cannot_be_reached(error: Exception, what: str) -> None:
    told = connect_failure(error)
    assert isinstance(told, HostUnreachable)
    command = "getent hosts gpu-a" if isinstance(error, socket.gaierror) else "ssh gpu-a true"
    assert (told.host, told.what, told.command) == ("a", what, command)
    assert told.fix and told.lines and all(told.lines)
    assert told.__cause__ is error


def bad_host_key() -> paramiko.BadHostKeyException:
    key = paramiko.RSAKey.generate(1024)
    return paramiko.BadHostKeyException("gpu-a", key, key)


def test_a_changed_host_key_is_told_apart() -> None:
    told = connect_failure(bad_host_key())
    assert told.what.startswith("the host key of gpu-a:22 has changed") and told.exit_code == 4


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (bad_host_key(), shlex.join(("ssh-keygen", "-R", "[10.0.0.5]:2222"))),
        (paramiko.AuthenticationException("no"), "ssh-copy-id -p 2222 kim@10.0.0.5"),
        (TimeoutError("timed out"), "sudo ufw allow 2222/tcp"),
        (OSError(113, "No route to host"), "ip route get 10.0.0.5"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_fix_has_the_address_and_port_of_ssh_config_and_not_the_alias(error: Exception, words: str) -> None:
    told = connect_failure(error, ELSEWHERE)
    assert told.fix and words in told.fix and "gpu-a" not in told.fix
    assert told.command == "ssh gpu-a true"


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the name bastion of the jump host does not resolve"),
        (ConnectionRefusedError(), "the jump host bastion:22 refuses connections"),
        (TimeoutError(), "the jump host bastion:22 did not answer in 10 s"),
        (paramiko.AuthenticationException("no"), "the jump host bastion:22 accepted no SSH key"),
        (EOFError(), "the jump host bastion:22 closed the connection before the login, again and again"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_dead_jump_host_is_not_blamed_on_the_host_behind_it(error: Exception, what: str) -> None:
    told = connect_failure(error, JUMP)
    assert told.what == what
    command = "getent hosts bastion" if isinstance(error, socket.gaierror) else "ssh kim@bastion true"
    assert told.command == command


def test_a_jump_host_that_cannot_go_on_is_told_with_both_ends() -> None:
    refused = connect_failure(paramiko.ChannelException(2, "Connect failed"), BEHIND)
    assert refused.what == "the jump host kim@bastion:22 could not connect to 10.0.0.5:22"
    assert refused.fix and "port 22" in refused.fix
    denied = connect_failure(paramiko.ChannelException(1, "Administratively prohibited"), BEHIND)
    assert denied.fix and "AllowTcpForwarding" in denied.fix


def test_a_key_is_copied_on_the_way_that_ssh_goes() -> None:
    assert ssh_copy_id_command(HOST) == "ssh-copy-id kim@gpu-a"
    assert ssh_copy_id_command(BEHIND) == "ssh-copy-id -o ProxyJump=kim@bastion:22 kim@10.0.0.5"
    proxied = Hop("10.0.0.5", 2222, "kim", proxy_for="gpu-a")
    assert ssh_copy_id_command(proxied) == "ssh-copy-id kim@gpu-a"


def test_the_key_that_is_copied_is_the_one_that_hvdocker_logs_in_with() -> None:
    assert ssh_copy_id_command(replace(HOST, key="/home/kim/lab key")) == "ssh-copy-id -i '/home/kim/lab key' kim@gpu-a"


def test_a_changed_key_is_removed_from_the_files_that_have_it_and_the_new_one_is_accepted() -> None:
    told = connect_failure(bad_host_key(), replace(HOST, known_in=("/etc/ssh/ssh_known_hosts", "/home/kim/hosts")))
    both = "sudo ssh-keygen -f /etc/ssh/ssh_known_hosts -R gpu-a && ssh-keygen -f /home/kim/hosts -R gpu-a"
    assert told.fix and f"{both}; then add --accept-new-host-keys" in told.fix


def test_a_changed_key_in_two_files_is_removed_from_both() -> None:
    of_all, own = Path("/etc/ssh/ssh_known_hosts"), Path("/home/kim/.ssh/known_hosts")
    assert files_to_clean([of_all, own], own) == (str(of_all), str(own))
    assert files_to_clean([own], own) == ()


@pytest.mark.parametrize(
    ("said", "keyword", "algorithm"),
    [
        ("Incompatible ssh peer (no acceptable kex algorithm)", "KexAlgorithms", "curve25519-sha256@libssh.org"),
        ("Incompatible ssh peer (no acceptable host key)", "HostKeyAlgorithms", "ssh-ed25519"),
        ("Incompatible ssh server (no acceptable ciphers)", "Ciphers", "aes128-ctr"),
        ("Incompatible ssh server (no acceptable macs)", "MACs", "hmac-sha2-256"),
    ],
)
def test_a_server_with_post_quantum_algorithms_only_says_what_it_should_allow(
    said: str, keyword: str, algorithm: str
) -> None:
    told = connect_failure(paramiko.ssh_exception.IncompatiblePeer(said))
    assert told.what == "gpu-a:22 allows no algorithm that hvdocker has"
    assert told.fix and f"in {keyword} of its sshd_config" in told.fix and algorithm in told.fix


def test_our_own_errors_only_get_their_host() -> None:
    assert str(connect_failure(HostUnfit("the SSH key is not there"), None)) == "a: the SSH key is not there"


def test_a_bug_stays_a_bug() -> None:
    with pytest.raises(ZeroDivisionError), connecting("a", lambda: HOST, 1):
        raise ZeroDivisionError
