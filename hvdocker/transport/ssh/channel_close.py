"""A channel that never sends a message after its close message.

When a command ends, the server closes the channel, and paramiko's reader thread answers at once with its own close
message. Another thread may be about to send data or EOF on the same channel at that moment: it has released the
channel's lock, but its message leaves after the close message. The server no longer knows the channel then, and OpenSSH
ends the whole connection ("ieof packet referred to nonexistent channel").

With this class, the close message waits until no thread is sending. During a key renewal (rekeying) a new thread sends
it, because the reader thread must not wait: only the reader thread can finish the renewal."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from paramiko import Channel, Transport
from paramiko.common import MSG_CHANNEL_CLOSE
from paramiko.message import Message

# Private names of paramiko that the classes here use or replace; a unit test checks that they exist.
CLOSING_CHANNEL_PRIVATE_NAMES = ("_send", "_send_eof", "_handle_close", "_close_internal", "_pipe")
CLOSING_TRANSPORT_PRIVATE_NAMES = ("_unlink_channel", "_send_user_message", "clear_to_send", "_channel_handler_table")


class ClosingChannel(Channel):
    """A paramiko channel that sends its close message only while no other thread is sending on it.

    Some variables are `Any` because paramiko's type stubs lack the names in CLOSING_CHANNEL_PRIVATE_NAMES."""

    def __init__(self, chanid: int) -> None:
        super().__init__(chanid)
        self._senders = 0
        self._waiting: list[Message] = []

    def _send(self, data: Any, message: Any) -> int:
        with self._sending():
            return super()._send(data, message)  # type: ignore[misc,no-any-return]

    def shutdown(self, how: int) -> None:
        with self._sending():
            super().shutdown(how)

    def close(self) -> None:
        parts: Any = self
        with self.lock:
            if parts._pipe is not None:
                parts._pipe.close()
                parts._pipe = None
            messages = parts._close_internal()
        self._answer(messages)

    def _handle_close(self, message: Any) -> None:
        parts: Any = self
        with self.lock:
            messages = parts._close_internal()
            parts.transport._unlink_channel(self.chanid)
        self._answer(messages)

    def _sending(self) -> _Sending:
        return _Sending(self)

    def _answer(self, messages: tuple[Message | None, ...]) -> None:
        with self.lock:
            self._waiting += [message for message in messages if message is not None]
        self._flush()

    def _flush(self) -> None:
        with self.lock:
            if self._senders:
                return
            messages, self._waiting = self._waiting, []
        if not messages:
            return
        parts: Any = self
        transport = parts.transport
        if transport.clear_to_send.is_set():
            _send_all(transport, messages)
        else:
            threading.Thread(target=_send_all, args=(transport, messages), daemon=True).start()


def _handle_close(channel: Any, message: Message) -> None:
    channel._handle_close(message)


_PARAMIKO: Any = Transport  # Any: the stubs lack the table


class ClosingTransport(Transport):
    """A transport that calls `ClosingChannel._handle_close` when the server closes a channel. Paramiko's own table of
    message handlers names the method of paramiko's Channel class, so the overriding method would not be called."""

    _channel_handler_table: ClassVar[Any] = {**_PARAMIKO._channel_handler_table, MSG_CHANNEL_CLOSE: _handle_close}


class _Sending:
    def __init__(self, channel: ClosingChannel) -> None:
        self._channel = channel

    def __enter__(self) -> None:
        with self._channel.lock:
            self._channel._senders += 1

    def __exit__(self, *_: object) -> None:
        with self._channel.lock:
            self._channel._senders -= 1
        self._channel._flush()


def _send_all(transport: Any, messages: list[Message]) -> None:
    for message in messages:
        transport._send_user_message(message)
