"""A host whose SSH handshake is slow is not a host that is away. A server in this process holds it back."""

import threading
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import HostUnreachable
from hvdocker.transport.ssh import connect as connecting
from hvdocker.transport.ssh.auth import Login, OpenedKeys
from hvdocker.transport.ssh.connect_errors import HandshakeTimeout
from hvdocker.transport.ssh.link import open_ssh
from tests.unit.transport.ssh.ssh_server import DEADLINE_S, SshServer


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    server = SshServer(tmp_path)
    yield server
    server.close()


def test_a_busy_host_may_answer_later_than_a_host_that_is_off(
    server: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "TCP_TIMEOUT_S", 1)
    # Nobody sets this event: the server says nothing for longer than the limit of the TCP connection.
    server.hold = lambda number: not threading.Event().wait(1.5)
    open_ssh(server.host()).close()
    assert len(server.connections) == 1


def test_a_handshake_that_never_ends_is_told_as_such(server: SshServer) -> None:
    server.hold = lambda number: False
    with pytest.raises(HostUnreachable) as caught:
        open_ssh(server.host(handshake_timeout=1))
    target = f"127.0.0.1:{server.port}"
    assert str(caught.value) == f"a: {target} answered, but did not finish the SSH handshake in 1 s"
    assert caught.value.fix and "is the host busy?" in caught.value.fix
    assert "`ssh: {handshake_timeout: 2}`" in caught.value.fix and caught.value.stage == "answers"


def test_a_handshake_that_ran_out_of_time_is_tried_again(server: SshServer) -> None:
    """As after a pause of the controller itself: its time ran out, but the host is ready."""
    server.hold = lambda number: number > 1
    open_ssh(server.host(handshake_timeout=1)).close()
    assert len(server.connections) == 2


def test_a_login_without_an_answer_is_no_rejected_key(tmp_path: Path, server: SshServer) -> None:
    class NoAnswer:
        auth_timeout = 7.0

        def is_active(self) -> bool:
            return True

        def auth_publickey(self, user: str, key: paramiko.PKey) -> list[str]:
            raise paramiko.AuthenticationException("Authentication timeout.")

    login = Login("kim", (str(tmp_path / ".ssh" / "id_ed25519"),), OpenedKeys({}))
    transport = NoAnswer()
    with pytest.raises(HandshakeTimeout, match="SSH login for 7 s"):
        login.authenticate(transport)  # type: ignore[arg-type]  # a transport that never answers


def test_paramiko_still_says_so_in_these_words(server: SshServer) -> None:
    """The login above is recognised by the text of paramiko's exception."""
    silent = threading.Event()
    transport = paramiko.Transport(("127.0.0.1", server.port))
    try:
        transport.start_client(timeout=DEADLINE_S)
        transport.auth_timeout = 0.1
        handler = paramiko.auth_handler.AuthHandler(transport)
        with pytest.raises(paramiko.AuthenticationException, match=r"^Authentication timeout\.$"):
            handler.wait_for_response(silent)
    finally:
        transport.close()
