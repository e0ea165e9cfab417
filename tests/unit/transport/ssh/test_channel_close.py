"""Nothing is said on a channel after its close."""

import threading
from typing import Any

import paramiko
from paramiko.common import MSG_CHANNEL_CLOSE, cMSG_CHANNEL_CLOSE, cMSG_CHANNEL_DATA, cMSG_CHANNEL_EOF

from hvdocker.transport.ssh.channel_close import (
    CLOSING_CHANNEL_PRIVATE_NAMES,
    CLOSING_TRANSPORT_PRIVATE_NAMES,
    ClosingChannel,
)
from hvdocker.transport.ssh.handshake import _Transport

KINDS = {cMSG_CHANNEL_CLOSE: "close", cMSG_CHANNEL_DATA: "data", cMSG_CHANNEL_EOF: "eof"}


class Wire:
    """Stands in for a transport; `on_data` is what happens while a message waits to be sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.clear_to_send = threading.Event()
        self.clear_to_send.set()
        self.unlinked: list[int] = []
        self.on_first = lambda: None
        self.done = threading.Semaphore(0)

    def _send_user_message(self, message: Any) -> None:
        first, self.on_first = self.on_first, lambda: None
        first()
        self.clear_to_send.wait()
        self.sent.append(KINDS[message.asbytes()[:1]])
        self.done.release()

    def _unlink_channel(self, number: int) -> None:
        self.unlinked.append(number)

    def _sanitize_packet_size(self, size: int) -> int:
        return size

    def get_log_channel(self) -> str:
        return "test"


def open_channel(wire: Wire) -> Any:
    channel: Any = ClosingChannel(1)
    channel._set_transport(wire)
    channel._set_remote_channel(7, 1 << 20, 1 << 15)
    return channel


def test_the_end_of_input_never_comes_after_the_close() -> None:
    wire = Wire()
    channel = open_channel(wire)
    wire.on_first = lambda: channel._handle_close(None)
    channel.shutdown_write()
    assert wire.sent == ["eof", "close"] and wire.unlinked == [1]


def test_data_never_comes_after_the_close() -> None:
    wire = Wire()
    channel = open_channel(wire)
    wire.on_first = lambda: channel._handle_close(None)
    assert channel.send(b"x") == 1
    assert wire.sent == ["data", "eof", "close"]


def test_paramikos_own_channel_gets_it_wrong() -> None:
    """Should this fail one day, paramiko has mended it, and ClosingChannel can go."""
    wire = Wire()
    channel: Any = paramiko.Channel(1)
    channel._set_transport(wire)
    channel._set_remote_channel(7, 1 << 20, 1 << 15)
    wire.on_first = lambda: channel._handle_close(None)
    channel.shutdown_write()
    assert wire.sent == ["close", "eof"]


def test_the_reader_calls_our_channels_own_way() -> None:
    """A transport as it is connected with: what it does with a message is looked up in a table."""
    wire = Wire()
    channel = open_channel(wire)
    wire.on_first = lambda: _Transport._channel_handler_table[MSG_CHANNEL_CLOSE](channel, None)
    channel.shutdown_write()
    assert wire.sent == ["eof", "close"]


def test_closing_answers_once() -> None:
    wire = Wire()
    channel = open_channel(wire)
    channel.close()
    channel.close()
    channel._handle_close(None)
    assert wire.sent == ["eof", "close"]


def test_the_reader_does_not_wait_for_new_keys() -> None:
    """It is the one who brings them."""
    wire = Wire()
    channel = open_channel(wire)
    wire.clear_to_send.clear()
    channel._handle_close(None)
    assert wire.sent == []
    wire.clear_to_send.set()
    assert wire.done.acquire(timeout=10) and wire.done.acquire(timeout=10)
    assert wire.sent == ["eof", "close"]


def test_the_parts_that_it_leans_on_are_there() -> None:
    methods = [part for part in CLOSING_CHANNEL_PRIVATE_NAMES if part != "_pipe"]
    assert [part for part in methods if not callable(getattr(paramiko.Channel, part, None))] == []
    assert hasattr(paramiko.Channel(1), "_pipe")
    source = paramiko.Transport
    assert [
        part for part in CLOSING_TRANSPORT_PRIVATE_NAMES if part != "clear_to_send" and not hasattr(source, part)
    ] == []
    assert "clear_to_send" in source.__init__.__code__.co_names
