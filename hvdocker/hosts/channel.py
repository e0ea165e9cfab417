"""A channel of an open SSH connection to a Unix socket on the host.

OpenSSH offers `direct-streamlocal@openssh.com`: the channel-open message carries the socket's path, an
empty string and a zero. Paramiko has no call for it, so the message is written here, with the same
steps as `Transport.open_channel`; a unit test names the private parts that this leans on."""

from __future__ import annotations

import threading
import time
from typing import Any

from paramiko import Channel, ChannelException, Transport
from paramiko.common import cMSG_CHANNEL_OPEN
from paramiko.message import Message
from paramiko.ssh_exception import SSHException

KIND = "direct-streamlocal@openssh.com"
OPEN_TIMEOUT_S = 20.0

# Everything private that `open_unix_channel` uses, of a transport and of a channel.
PARAMIKO_PARTS = (
    "_sanitize_window_size", "_sanitize_packet_size", "_next_channel", "_channels", "channel_events",
    "channels_seen", "_send_user_message", "lock",
)  # fmt: skip
CHANNEL_PARTS = ("_set_transport", "_set_window")


def open_unix_channel(transport: Transport, path: str, timeout_s: float = OPEN_TIMEOUT_S) -> Channel:
    """Raises ChannelException when the server says no (forwarding denied, or no such socket)."""
    if not transport.is_active():
        raise SSHException("the SSH connection is closed")
    channel, event = _register(transport, path)
    deadline = time.monotonic() + timeout_s
    while not event.wait(0.1):
        if not transport.is_active():
            raise transport.get_exception() or SSHException("the SSH connection closed")
        if time.monotonic() > deadline:
            raise SSHException(f"no answer to a channel for {path} in {timeout_s:.0f} s")
    if transport._channels.get(channel.get_id()) is None:  # type: ignore[attr-defined]  # PARAMIKO_PARTS
        raise transport.get_exception() or ChannelException(0, "refused")
    return channel


def _register(transport: Transport, path: str) -> tuple[Channel, threading.Event]:
    parts: Any = transport  # Any: these are PARAMIKO_PARTS, unknown to its stubs
    with transport.lock:
        window = parts._sanitize_window_size(None)
        packet = parts._sanitize_packet_size(None)
        number = parts._next_channel()
        message = Message()
        message.add_byte(cMSG_CHANNEL_OPEN)
        message.add_string(KIND)
        message.add_int(number)
        message.add_int(window)
        message.add_int(packet)
        message.add_string(path)
        message.add_string("")
        message.add_int(0)
        channel: Any = Channel(number)  # Any: its private setters are unknown to the stubs
        parts._channels.put(number, channel)
        event = parts.channel_events[number] = threading.Event()
        parts.channels_seen[number] = True
        channel._set_transport(transport)
        channel._set_window(window, packet)
    parts._send_user_message(message)
    return channel, event
