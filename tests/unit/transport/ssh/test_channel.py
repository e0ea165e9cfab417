"""What the SSH link leans on in paramiko. No connection is opened: the transport's socket is a stand-in."""

import ast
import threading
from collections.abc import Callable
from pathlib import Path

import docker
import paramiko
import pytest

from hvdocker.transport import docker_api
from hvdocker.transport.ssh import channel, channel_close, connect_errors, handshake
from hvdocker.transport.ssh.handshake import _Transport

DEADLINE_S = 10.0


class NoSocket:
    _closed = False

    def settimeout(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        self._closed = True


@pytest.fixture
def transport() -> paramiko.Transport:
    return _Transport(NoSocket())


@pytest.mark.parametrize("part", (*channel.TRANSPORT_PRIVATE_NAMES, *connect_errors.OFFERED_PRIVATE_NAMES))
def test_the_private_parts_of_paramiko_that_we_use_are_there(transport: paramiko.Transport, part: str) -> None:
    assert hasattr(transport, part)


@pytest.mark.parametrize("part", channel.CHANNEL_PRIVATE_NAMES)
def test_the_private_parts_of_its_channels_that_we_use_are_there(part: str) -> None:
    assert callable(getattr(paramiko.Channel, part))


@pytest.mark.parametrize("part", docker_api.DOCKER_PRIVATE_NAMES)
def test_the_private_parts_of_the_docker_sdk_that_we_use_are_there(part: str) -> None:
    assert hasattr(docker.APIClient(base_url="tcp://localhost:1", version="1.40"), part)


def private_parts_used() -> set[tuple[str, str]]:
    """Every file that speaks SSH or Docker with the parts it uses. One is private by its underscore; what
    belongs to `self` is our own."""
    root = Path(channel.__file__).parents[2]
    return {
        (file.relative_to(root).as_posix(), node.attr)
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and is_private(node)
    }


def test_every_private_part_that_is_used_is_named() -> None:
    named = {
        *channel.TRANSPORT_PRIVATE_NAMES,
        *channel.CHANNEL_PRIVATE_NAMES,
        *handshake.PREFERENCES_PRIVATE_NAMES,
    }
    named |= {
        *docker_api.DOCKER_PRIVATE_NAMES,
        *channel_close.CLOSING_CHANNEL_PRIVATE_NAMES,
        *channel_close.CLOSING_TRANSPORT_PRIVATE_NAMES,
    }
    named |= {"_senders", "_flush"}  # of the classes in channel_close.py
    named |= {"_fp"}  # of urllib3's answers, which the SDK itself leans on
    used = private_parts_used()
    assert {(file, part) for file, part in used if part not in named} == set()
    seen = {
        ("transport/ssh/channel.py", "_channels"),
        ("transport/ssh/handshake.py", "_preferred_kex"),
        ("transport/ssh/keepalive.py", "_send_user_message"),
    }
    seen |= {
        ("transport/docker_api.py", "_url"),
        ("images/build/requirements_layer.py", "_post_json"),
        ("images/ship/load.py", "_stream_helper"),
    }
    assert seen <= used


def test_no_part_of_the_docker_sdk_is_named_that_nobody_uses() -> None:
    used = {part for _, part in private_parts_used()} | parts_of_the_sdk_in_our_client()
    assert set(docker_api.DOCKER_PRIVATE_NAMES) - used == set()


def parts_of_the_sdk_in_our_client() -> set[str]:
    """What our client has of its own, or asks of itself: renamed in the SDK, it would be called no more."""
    tree = ast.parse(Path(docker_api.__file__).read_text(encoding="utf-8"))
    client = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "EngineClient")
    own = {node.name for node in client.body if isinstance(node, ast.FunctionDef)}
    return own | {node.attr for node in ast.walk(client) if isinstance(node, ast.Attribute)}


def is_private(node: ast.Attribute) -> bool:
    is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return node.attr.startswith("_") and not node.attr.startswith("__") and not is_own


def test_a_closed_connection_opens_no_channel(transport: paramiko.Transport) -> None:
    with pytest.raises(paramiko.SSHException, match="closed"):
        channel.open_unix_channel(transport, "/var/run/docker.sock")


def test_the_message_that_asks_for_a_unix_socket(transport: paramiko.Transport) -> None:
    sent: list[paramiko.Message] = []
    transport._send_user_message = sent.append
    made, event = channel._register(
        transport, channel.STREAMLOCAL, channel._streamlocal_details("/var/run/docker.sock")
    )
    [message] = sent
    message.rewind()
    assert message.get_byte() == b"\x5a"
    assert message.get_text() == "direct-streamlocal@openssh.com"
    assert message.get_int() == made.get_id()
    assert message.get_int() == transport.default_window_size
    assert message.get_int() == transport.default_max_packet_size
    assert (message.get_text(), message.get_text(), message.get_int()) == ("/var/run/docker.sock", "", 0)
    assert message.get_remainder() == b""
    assert transport._channels.get(made.get_id()) is made
    assert transport.channel_events[made.get_id()] is event and not event.is_set()


def test_a_lost_connection_is_not_the_end_of_what_is_read(transport: paramiko.Transport) -> None:
    transport._send_user_message = lambda message: None
    lost, ended = (channel._register(transport, "session", paramiko.Message())[0] for _ in range(2))
    for made in (lost, ended):
        made.in_buffer.feed(b"the beginning")
    ended._handle_eof(None)
    lost._unlink()
    assert lost.recv(100) == ended.recv(100) == b"the beginning"
    assert ended.recv(100) == b""
    with pytest.raises(ConnectionResetError):
        lost.recv(100)


def opened(transport: paramiko.Transport) -> channel.HostChannel:
    transport.active = True
    transport._send_user_message = lambda message: None
    made, _ = channel._register(transport, "session", paramiko.Message())
    made._set_remote_channel(7, 1 << 20, 1 << 15)
    return made


@pytest.mark.parametrize("wait", ["exec_command", "recv_exit_status", "recv", "recv_stderr", "sendall"])
def test_every_wait_ends_with_the_connection(transport: paramiko.Transport, wait: str) -> None:
    """The host never says anything, and has taken all that it takes."""
    made = opened(transport)
    made.out_window_size = 0
    words: dict[str, tuple[object, ...]] = {"recv_exit_status": (), "recv": (1,), "recv_stderr": (1,)}
    waiting = Waiting(getattr(made, wait), *words.get(wait, (b"x",)))
    assert waiting.started.wait(DEADLINE_S)
    transport.close()
    waiting.join(DEADLINE_S)
    assert not waiting.is_alive()
    assert made.is_lost and (waiting.error is not None or waiting.answer == -1)


class Waiting(threading.Thread):
    def __init__(self, call: Callable[..., object], *words: object) -> None:
        super().__init__(daemon=True)
        self.call, self.words = call, words
        self.started = threading.Event()
        self.answer: object = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        self.started.set()
        try:
            self.answer = self.call(*self.words)
        except Exception as error:
            self.error = error


def test_a_question_on_a_connection_that_has_just_ended_is_not_waited_for(
    transport: paramiko.Transport,
) -> None:
    """All waits were ended; then somebody who had looked before begins one."""
    made = opened(transport)

    def end(message: object) -> None:
        transport.active = False

    transport._send_user_message = end
    waiting = Waiting(made.exec_command, "true")
    waiting.join(DEADLINE_S)
    assert isinstance(waiting.error, paramiko.SSHException) and "closed" in str(waiting.error)


def test_the_fast_algorithms_come_first_and_nothing_is_lost() -> None:
    assert _Transport._preferred_ciphers[0].startswith("aes128-gcm")
    assert _Transport._preferred_kex[0].startswith("curve25519")
    assert set(_Transport._preferred_ciphers) == set(paramiko.Transport._preferred_ciphers)
    assert set(_Transport._preferred_kex) == set(paramiko.Transport._preferred_kex)


def test_the_order_is_what_a_connection_offers(transport: paramiko.Transport) -> None:
    options = transport.get_security_options()
    assert options.ciphers[0] == "aes128-gcm@openssh.com"
    assert options.kex[0].startswith("curve25519-sha256")


def test_a_channel_is_read_as_it_fills_as_the_reader_of_logs_needs() -> None:
    """The SDK reads from `makefile`, and asks the file for its channel."""
    opened = channel.HostChannel(1)
    reader = opened.makefile("rb")
    opened.in_buffer.feed(b"5\r\nhello")
    assert (reader.readline(), reader.read1(1 << 16), reader.channel) == (b"5\r\n", b"hello", opened)
    opened.in_buffer.close()
    assert reader.read1(1 << 16) == b""
    reader.close()
    assert not opened.closed
