"""Opens channels of an SSH connection: a session that runs a command, or a Unix socket on the host.

For Unix sockets OpenSSH offers `direct-streamlocal@openssh.com`: the channel-open message carries the path of the
socket, an empty string and a zero. Paramiko has no call for it, so the message is written here, with the steps of
`Transport.open_channel`. Sessions are opened in the same way, so that all channels are HostChannels. Paramiko's own
channel class may send on a closed channel, and reports a broken connection as the normal end of the data."""

from __future__ import annotations

import io
import threading
import time
from typing import Any

from paramiko import ChannelException, Transport
from paramiko.common import cMSG_CHANNEL_OPEN
from paramiko.message import Message
from paramiko.ssh_exception import SSHException

from hvdocker.transport.ssh.channel_close import ClosingChannel

STREAMLOCAL = "direct-streamlocal@openssh.com"
# As long as `keepalive` waits for a host that does not respond: a busy host may take that long.
OPEN_TIMEOUT_S = 30.0
_READ_BYTES = 1 << 16

# Private names of a paramiko transport and channel that are used here; a unit test checks that they exist.
TRANSPORT_PRIVATE_NAMES = (
    "_sanitize_window_size", "_sanitize_packet_size", "_next_channel", "_channels", "channel_events",
    "channels_seen", "_send_user_message", "lock",
)  # fmt: skip
CHANNEL_PRIVATE_NAMES = ("_set_transport", "_set_window", "_unlink", "_wait_for_event")


class HostChannel(ClosingChannel):
    """A channel whose reads raise ConnectionResetError when the connection breaks. Paramiko's own channel would report
    the normal end of the data instead."""

    is_lost = False
    # What fits into one packet of an OpenSSH session: `send` copies a longer piece for every packet.
    packet_bytes = (1 << 15) - 64

    def makefile(self, *_params: object) -> ChannelReader:  # type: ignore[override]  # read only, and faster
        """Return a buffered reader of the channel, for the Docker SDK. The parameters, a socket's mode and buffer size,
        are ignored.

        Paramiko's own file object is slower, because it is written in Python. It also cannot return the bytes that have
        arrived without waiting for more."""
        return ChannelReader(self)

    def recv(self, nbytes: int) -> bytes:
        return self._unless_lost(super().recv(nbytes))

    def recv_stderr(self, nbytes: int) -> bytes:
        return self._unless_lost(super().recv_stderr(nbytes))

    def _unlink(self) -> None:
        """Record in `is_lost` that the connection ended while this channel was open. Paramiko calls this method
        for every open channel when a connection ends."""
        self.is_lost = not self.closed
        super()._unlink()  # type: ignore[misc]  # CHANNEL_PRIVATE_NAMES

    def _wait_for_event(self) -> None:
        """Wait for the answer to a request or for the end of the connection. Paramiko's own method waits
        forever if the connection ended just before the request."""
        parts: Any = self  # Any: the stubs lack these names
        while not parts.event.wait(0.1):
            if not parts.transport.is_active():
                parts.event.set()
        super()._wait_for_event()  # type: ignore[misc]  # CHANNEL_PRIVATE_NAMES

    def _unless_lost(self, data: bytes) -> bytes:
        if not data and self.is_lost and not self.eof_received:
            raise ConnectionResetError("the SSH connection broke")
        return data


class ChannelReader(io.BufferedReader):
    """Reads from a channel as from a socket. Closing the reader does not close the channel. The Docker SDK finds the
    channel in the attribute `channel`."""

    def __init__(self, channel: HostChannel) -> None:
        super().__init__(_RawChannel(channel), _READ_BYTES)
        self.channel = channel


class _RawChannel(io.RawIOBase):
    def __init__(self, channel: HostChannel) -> None:
        self._channel = channel

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # Any: any writable buffer
        data = self._channel.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def open_session(transport: Transport, timeout_s: float = OPEN_TIMEOUT_S) -> HostChannel:
    """Open a session channel, in which one command can run. Raise ChannelException if the server refuses,
    SSHException if it does not answer within `timeout_s`, and the connection's error if the connection is closed."""
    return _open_channel(transport, "session", Message(), timeout_s)


def open_unix_channel(transport: Transport, path: str, timeout_s: float = OPEN_TIMEOUT_S) -> HostChannel:
    """Open a channel to the Unix socket `path` on the host. Raise ChannelException if the server refuses: forwarding is
    denied, or there is no such socket. Raise SSHException if it does not answer within `timeout_s`, and the
    connection's error if the connection is closed."""
    return _open_channel(transport, STREAMLOCAL, _streamlocal_details(path), timeout_s)


def _streamlocal_details(path: str) -> Message:
    details = Message()
    details.add_string(path)
    details.add_string("")
    details.add_int(0)
    return details


def _open_channel(transport: Transport, kind: str, details: Message, timeout_s: float) -> HostChannel:
    if not transport.is_active():
        raise SSHException("the SSH connection is closed")
    channel, event = _register(transport, kind, details)
    deadline = time.monotonic() + timeout_s
    while not event.wait(0.1):
        if not transport.is_active():
            raise transport.get_exception() or SSHException("the SSH connection closed")
        if time.monotonic() > deadline:
            raise SSHException(f"no answer to a new channel ({kind}) in {timeout_s:.0f} s")
    if transport._channels.get(channel.get_id()) is None:  # type: ignore[attr-defined]  # private
        raise transport.get_exception() or ChannelException(0, "refused")
    return channel


def _register(transport: Transport, kind: str, details: Message) -> tuple[HostChannel, threading.Event]:
    parts: Any = transport  # Any: the stubs lack TRANSPORT_PRIVATE_NAMES
    with transport.lock:
        window = parts._sanitize_window_size(None)
        packet = parts._sanitize_packet_size(None)
        number = parts._next_channel()
        message = Message()
        message.add_byte(cMSG_CHANNEL_OPEN)
        message.add_string(kind)
        message.add_int(number)
        message.add_int(window)
        message.add_int(packet)
        message.add_bytes(details.asbytes())
        channel: Any = HostChannel(number)  # Any: the stubs lack its private setters
        parts._channels.put(number, channel)
        event = parts.channel_events[number] = threading.Event()
        parts.channels_seen[number] = True
        channel._set_transport(transport)
        channel._set_window(window, packet)
    parts._send_user_message(message)
    return channel, event
