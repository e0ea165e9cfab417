import errno
import os

import docker.errors
import paramiko
import pytest
import requests

from hvdocker.errors import ChannelRefused, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.transport.errors import translating_errors


def test_a_bug_stays_a_bug() -> None:
    with pytest.raises(ZeroDivisionError), translating_errors("a", "x"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "kind", "what"),
    [
        (
            docker.errors.APIError("x", explanation="conflict"),
            HvdockerError,
            "the Docker engine refused: doing",
        ),
        (
            docker.errors.APIError("x", explanation="write: no space left on device"),
            HostUnfit,
            "the disk is full: doing",
        ),
        (
            docker.errors.APIError("x", explanation='could not select device driver "" with capabilities: [[gpu]]'),
            HostUnfit,
            "the NVIDIA container toolkit is missing or broken: doing",
        ),
        (
            docker.errors.APIError(
                "x", explanation='Conflict. The container name "/w" is already in use by container "be6f"'
            ),
            HostUnfit,
            "another container has this name: doing",
        ),
        (docker.errors.DockerException("x"), HostUnfit, "the Docker engine does not answer: doing"),
        (paramiko.ChannelException(2, "refused"), ChannelRefused, "the SSH server refused a channel: doing"),
        (paramiko.SSHException("x"), HostUnreachable, "the connection was lost: doing"),
        (requests.exceptions.ConnectionError("x"), HostUnreachable, "the connection was lost: doing"),
        (OSError("x"), HostUnreachable, "the connection was lost: doing"),
        (EOFError(), HostUnreachable, "the connection was lost: doing"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_happens_on_an_open_link_in_our_words(error: Exception, kind: type, what: str) -> None:
    with pytest.raises(HvdockerError) as caught, translating_errors("a", "doing"):
        raise error
    assert type(caught.value) is kind
    assert (caught.value.host, caught.value.what) == ("a", what)
    assert caught.value.lines


@pytest.mark.parametrize("name", ["EEXIST", "EXDEV", "ENOSPC", "EACCES", "EISDIR", "ENOENT", "EIO"])
def test_a_full_disk_here_is_not_told_as_a_lost_host(name: str) -> None:
    number = getattr(errno, name)
    with pytest.raises(HvdockerError) as caught, translating_errors("a", "doing"):
        raise OSError(number, os.strerror(number), "/home/me/x")
    assert type(caught.value) is HvdockerError
    assert caught.value.host is None
    assert caught.value.what == f"this machine has a problem of its own: {os.strerror(number)}: /home/me/x"


@pytest.mark.parametrize("name", ["ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "EBADF"])
def test_a_connection_that_broke_is_a_lost_host(name: str) -> None:
    number = getattr(errno, name)
    with (
        pytest.raises(HostUnreachable, match="the connection was lost: doing") as caught,
        translating_errors("a", "doing"),
    ):
        raise OSError(number, os.strerror(number))
    assert caught.value.host == "a"


def test_a_refused_channel_says_what_to_look_at() -> None:
    with pytest.raises(HostUnfit) as caught, translating_errors("a", "doing"):
        raise paramiko.ChannelException(2, "Connect failed")
    assert caught.value.fix and "MaxSessions" in caught.value.fix and "Docker" in caught.value.fix
