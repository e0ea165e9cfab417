"""Every call of a link whose output is read, on a server whose shell talks before and after, on both streams."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import HvdockerError
from hvdocker.shell.command import Command, command, shell
from hvdocker.transport.ssh.link import EngineAccess, SshLink, open_ssh
from tests.unit.transport.ssh.ssh_server import SshServer

NOISE = [b"welcome\n", b"\x1b]0;title\x07", b"\xff\xfe no newline", b"\n" * 3, b"x" * 70_000 + b"\n"]
# Stands for `docker system dial-stdio`: answers each request as an engine does.
DOCKER = """#!/bin/sh
[ "$1 $2 $3 $4" = "-H unix:///var/run/docker.sock system dial-stdio" ] || exit 9
while IFS= read -r line; do
    [ "${#line}" -gt 1 ] || printf 'HTTP/1.1 200 OK\\r\\nApi-Version: 1.41\\r\\nContent-Length: 2\\r\\n\\r\\nOK'
done
"""


def talkative(noise: bytes, line: bytes, channel: paramiko.Channel) -> int:
    """Run the line in a shell whose start files and logout files print."""
    channel.sendall(noise)
    channel.sendall_stderr(noise)
    with subprocess.Popen(
        ["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        outputs = ((process.stdout.fileno(), channel.sendall), (process.stderr.fileno(), channel.sendall_stderr))
        threads = [threading.Thread(target=_copy, args=(*output,), daemon=True) for output in outputs]
        threading.Thread(target=_feed, args=(channel, process), daemon=True).start()
        for thread in threads:
            thread.start()
        code = process.wait()
        for thread in threads:
            thread.join()
    channel.sendall(noise)
    channel.sendall_stderr(noise)
    return code


def _copy(source: int, send: Callable[[bytes], None]) -> None:
    with contextlib.suppress(OSError):  # the test ended the connection
        while data := os.read(source, 1 << 16):
            send(data)


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    with contextlib.suppress(OSError, ValueError):  # the process, or the test's end, closed the pipe
        while data := channel.recv(1 << 16):
            process.stdin.write(data)
            process.stdin.flush()
        process.stdin.close()


@pytest.fixture(params=NOISE, ids=lambda noise: repr(noise[:12]))
def link(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshLink]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER)
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    server = SshServer(tmp_path, answer=lambda line, channel: talkative(request.param, line, channel))
    link = open_ssh(server.host())
    yield link
    link.close()
    server.close()


BINARY = bytes(range(256)) * 300


def test_run_returns_what_the_command_printed_and_no_more(link: SshLink) -> None:
    result = link.run(shell("printf 'out\\n'; printf 'err\\n' >&2; exit 7"))
    assert (result.code, result.out, result.err) == (7, b"out\n", b"err\n")
    assert link.run(command("true")).out == b""


def test_run_passes_input_and_output_as_they_are(link: SshLink) -> None:
    assert link.run(command("cat"), [BINARY, BINARY]).out == 2 * BINARY


def test_stream_yields_what_the_command_printed_and_no_more(link: SshLink, tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(BINARY)
    assert b"".join(link.stream(command("cat", str(tmp_path / "archive")))) == BINARY


def test_a_stream_that_fails_tells_the_words_of_the_command(link: SshLink) -> None:
    with pytest.raises(HvdockerError) as caught:
        list(link.stream(shell("echo part; echo reason >&2; exit 3")))
    assert "exit 3" in caught.value.what and caught.value.lines == ("reason",)


def test_the_engine_answers_through_the_docker_command(link: SshLink) -> None:
    link.use_engine(EngineAccess(has_cli=True))
    assert link.engine().ping() is True
    assert link.engine().ping() is True


def test_a_command_without_output_is_not_given_the_noise(link: SshLink) -> None:
    assert link.run(Command(("sh", "-c", ":"))).tail() == []
