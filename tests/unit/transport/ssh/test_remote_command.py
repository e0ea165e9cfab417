"""One command on a channel: what ends it, and what must not end it."""

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import paramiko
import pytest

from hvdocker.errors import CommandTimeout
from hvdocker.shell.command import command, shell
from hvdocker.transport.ssh import link as link_module
from hvdocker.transport.ssh.channel import HostChannel, open_session
from hvdocker.transport.ssh.framing import Frame
from hvdocker.transport.ssh.link import SshLink, open_ssh
from hvdocker.transport.ssh.remote_command import RemoteCommand
from tests.unit.transport.ssh.ssh_server import DEADLINE_S, Answer, SshServer

FRAME = Frame("5eed")


class FakeChannel:
    """A channel that returns the given chunks of standard error, or raises them, and takes three bytes at a time."""

    is_lost = False
    packet_bytes = 1 << 15

    def __init__(self, stderr: list[bytes | Exception], send_errors: list[Exception] | None = None) -> None:
        self._stderr = stderr
        self._send_errors = send_errors or []
        self.sent = b""

    def recv(self, size: int) -> bytes:
        return FRAME.start + FRAME.end

    def recv_stderr(self, size: int) -> bytes:
        chunk = self._stderr.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def send(self, data: bytes) -> int:
        if self._send_errors:
            raise self._send_errors.pop(0)
        self.sent += data[:3]
        return len(data[:3])

    def shutdown_write(self) -> None:
        pass

    def recv_exit_status(self) -> int:
        return 0

    def close(self) -> None:
        pass


def run(channel: FakeChannel, stdin: list[bytes] | None = None) -> RemoteCommand:
    running = RemoteCommand(cast(HostChannel, channel), FRAME, stdin)
    assert list(running.output()) == []
    assert running.finish() == 0
    return running


def test_standard_error_is_read_after_a_long_silence() -> None:
    late: list[bytes | Exception] = [FRAME.start, TimeoutError(), TimeoutError(), b"tar: no\n" + FRAME.end]
    assert run(FakeChannel(late)).errors == b"tar: no\n"


def test_standard_error_ends_at_a_mark_that_comes_in_two_pieces() -> None:
    pieces: list[bytes | Exception] = [FRAME.start + b"tar: no\n" + FRAME.end[:5], FRAME.end[5:]]
    assert run(FakeChannel(pieces)).errors == b"tar: no\n"


def test_input_goes_on_when_a_command_does_not_read_for_a_while() -> None:
    channel = FakeChannel([FRAME.start + FRAME.end], send_errors=[TimeoutError(), TimeoutError()])
    run(channel, [b"one two ", b"three"])
    assert channel.sent == b"one two three"


def test_input_ends_when_the_command_has_ended() -> None:
    channel = FakeChannel([FRAME.start + FRAME.end], send_errors=[OSError("Socket is closed")])
    run(channel, [b"one two ", b"three"])
    assert channel.sent == b""


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def open_link(answer: Answer, home: Path, monkeypatch: pytest.MonkeyPatch) -> SshLink:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return open_ssh(SshServer(home, answer=answer).host())


@pytest.mark.parametrize("stdin", [None, [b"x" * 5_000_000]])
def test_a_process_left_in_the_background_does_not_hold_a_command(
    stdin: list[bytes] | None, released: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sshd sends the exit code and keeps the channel open, because a process of a start-up file has its streams."""
    waited: list[bool] = []

    def answer(line: bytes, channel: paramiko.Channel) -> int:
        done = subprocess.run(["sh", "-c", line], capture_output=True, stdin=subprocess.DEVNULL)
        channel.sendall(done.stdout)
        channel.sendall_stderr(done.stderr)
        channel.send_exit_status(done.returncode)
        waited.append(released.wait(DEADLINE_S))
        return done.returncode

    link = open_link(answer, tmp_path, monkeypatch)
    result = link.run(shell("echo out; echo err >&2; exit 7"), stdin)
    assert (result.code, result.out, result.err) == (7, b"out\n", b"err\n")
    assert not waited, "the command was read until its streams were closed"
    link.close()


def test_a_silent_command_is_named_and_its_channel_closed(
    released: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "COMMAND_TIMEOUT_S", 0.05)

    def answer(line: bytes, channel: paramiko.Channel) -> int:
        released.wait(DEADLINE_S)
        return 0

    link = open_link(answer, tmp_path, monkeypatch)
    channels: list[HostChannel] = []

    def open_and_record(transport: paramiko.Transport) -> HostChannel:
        channels.append(open_session(transport))
        return channels[-1]

    monkeypatch.setattr(link_module, "open_session", open_and_record)
    with pytest.raises(CommandTimeout, match="printed nothing for 0 s"):
        list(link.stream(command("true")))
    assert [channel.closed for channel in channels] == [True]
    link.close()
