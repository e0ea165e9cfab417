"""Uploads through the real program ssh to an SSH server of this process, and what falls back to the open connection."""

import contextlib
import hashlib
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import paramiko
import pytest

from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.shell.command import command, shell
from hvdocker.transport.link import LargeInput, input_from_file
from hvdocker.transport.ssh.link import EngineAccess, SshLink, open_ssh
from hvdocker.transport.ssh.openssh import choice, login
from tests.unit.transport.ssh.ssh_server import DEADLINE_S, SshServer
from tests.unit.transport.ssh.test_noisy_shell import DOCKER, talkative

MB = 1 << 20
CONTENT = os.urandom(MB) * 3
HASH = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Trial:
    """A link to a server in this process. `programs` is the first folder of the PATH."""

    home: Path
    server: SshServer
    link: SshLink
    programs: Path

    def program(self, name: str, script: str) -> None:
        (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.programs / name).chmod(0o755)

    def file(self) -> Path:
        (self.home / "data").write_bytes(CONTENT)
        return self.home / "data"

    @property
    def logins(self) -> int:
        return len(self.server.connections)


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr(choice, "MIN_TOTAL_BYTES", MB)
    monkeypatch.setattr(choice, "MIN_BYTES", MB)
    (tmp_path / "bin").mkdir()
    server = SshServer(tmp_path, answer=partial(talkative, b"noise\n"))
    link = open_ssh(server.host())
    yield Trial(tmp_path, server, link, tmp_path / "bin")
    link.close()
    server.close()
    assert children() == "", "an ssh process was left behind"


def children() -> str:
    words = ["ps", "-o", "args=", "--ppid", str(os.getpid())]
    lines = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(line for line in lines if line.startswith(("ssh", "/bin/sh")) or "/ssh " in line)


def chunks() -> Iterator[bytes]:
    for start in range(0, len(CONTENT), 100_000):
        yield CONTENT[start : start + 100_000]


def large() -> LargeInput:
    return LargeInput(chunks(), len(CONTENT))


def test_a_large_input_arrives_whole_through_a_second_login(trial: Trial) -> None:
    result = trial.link.run(shell("sha256sum; echo err >&2; exit 3"), large())
    assert (result.code, result.text.split()[0], result.err) == (3, HASH, b"err\n")
    assert trial.logins == 2


def test_a_file_is_read_by_ssh_and_its_progress_shown(trial: Trial) -> None:
    sent: list[int] = []
    content = input_from_file(trial.file(), sent.append, len(CONTENT))
    result = trial.link.run(shell("sha256sum"), content)
    assert (result.code, result.text.split()[0]) == (0, HASH)
    assert trial.logins == 2
    assert sent and sent == sorted(sent)


def test_a_small_input_stays_on_the_open_connection(trial: Trial) -> None:
    assert trial.link.run(command("cat"), LargeInput([b"small"], 5)).out == b"small"
    assert trial.link.run(shell("sha256sum"), chunks()).text.split()[0] == HASH
    assert trial.logins == 1


def test_the_engine_is_reached_through_ssh(trial: Trial) -> None:
    trial.program("docker", DOCKER)
    trial.link.use_engine(EngineAccess(has_cli=True))
    with trial.link.upload_engine(2 * MB) as engine:
        assert engine.ping() is True
        assert trial.logins == 2
    with trial.link.upload_engine(10) as engine:
        assert engine is trial.link.engine()
    assert trial.logins == 2


def test_an_engine_that_ssh_does_not_reach_is_reached_as_before(trial: Trial) -> None:
    once = trial.home / "once"
    trial.program("docker", f"[ -e {once} ] || {{ : > {once}; exit 1; }}\n{DOCKER}")
    trial.link.use_engine(EngineAccess(has_cli=True))
    with trial.link.upload_engine(2 * MB) as engine:
        assert engine is trial.link.engine() and engine.ping() is True


REFUSALS: dict[str, Callable[[Trial], None]] = {
    "ssh that cannot log in": lambda trial: trial.program("ssh", "echo 'Permission denied.' >&2; exit 255"),
    "ssh that asks": lambda trial: trial.program("ssh", "exec sleep 60"),
    "ssh of another maker": lambda trial: trial.program("ssh", "echo 'unknown option -F' >&2; exit 1"),
    "no program": lambda trial: (trial.programs / "ssh").write_text("not a program") and None,
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_ssh_cannot_send_goes_through_the_open_connection(
    trial: Trial, refusal: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(login, "LOGIN_LIMIT_S", 0.3)
    if refusal == "no program":
        monkeypatch.setattr(shutil, "which", lambda name: str(trial.programs / name))
    REFUSALS[refusal](trial)
    with caplog.at_level(logging.WARNING, "hvdocker.transport"):
        for _ in range(2):
            assert trial.link.run(shell("sha256sum"), large()).text.split()[0] == HASH
    assert trial.logins == 1
    assert [record.getMessage()[:2] for record in caplog.records] == ["a:"], "it is tried once, and noted"


def test_without_ssh_everything_goes_through_the_open_connection(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    content = input_from_file(trial.file(), lambda done: None, len(CONTENT))
    assert trial.link.run(shell("sha256sum"), content).text.split()[0] == HASH
    assert trial.logins == 1


def test_another_host_key_is_refused(trial: Trial, tmp_path: Path) -> None:
    """The second login meets another server at the same address: nothing is sent there."""
    path = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    trial.server.key = paramiko.Ed25519Key.from_private_key_file(str(path))
    assert trial.link.run(shell("sha256sum"), large()).text.split()[0] == HASH
    assert trial.logins == 2
    assert trial.link.run(shell("sha256sum"), large()).text.split()[0] == HASH
    assert trial.logins == 2, "it was tried again"


def test_a_connection_that_breaks_is_lost_as_ever(trial: Trial) -> None:
    def breaking() -> Iterator[bytes]:
        yield CONTENT
        trial.server.drop(1)
        yield from [CONTENT] * 20

    with pytest.raises(HostUnreachable, match="the connection was lost"):
        trial.link.run(shell("cat > /dev/null"), LargeInput(breaking(), 60 * MB))
    assert trial.link.run(command("echo", "here")).out == b"here\n"


@pytest.mark.parametrize("is_file", [True, False])
def test_an_error_of_the_sender_ends_ssh_and_is_raised(trial: Trial, is_file: bool) -> None:
    def stop(done: int) -> None:
        raise HvdockerError("interrupted")

    def stopping() -> Iterator[bytes]:
        yield CONTENT[:1000]
        stop(0)

    content = input_from_file(trial.file(), stop, len(CONTENT)) if is_file else LargeInput(stopping(), len(CONTENT))
    with pytest.raises(HvdockerError, match="interrupted"):
        trial.link.run(shell(f"sleep {DEADLINE_S}"), content)
    assert trial.logins == 2


UPLOADER = """
import os, sys
from pathlib import Path
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.shell.command import shell
from hvdocker.transport.link import input_from_file
from hvdocker.transport.ssh.link import open_ssh
link = open_ssh(Host("a", "127.0.0.1", ssh=SshSettings("kim", int(sys.argv[1]))))
sent = lambda done: done and os.write(1, b"sending\\n")
link.run(shell("cat > /dev/null"), input_from_file(Path(sys.argv[2]), sent, 1 << 40))
"""


def test_ssh_ends_with_a_program_that_is_killed(trial: Trial) -> None:
    """Even while ssh itself reads a file that lasts for hours: also after a signal that no program can catch."""
    words = [sys.executable, "-c", UPLOADER, str(trial.server.port), str(endless_file(trial))]
    # The test's own folder has too long a path for sockets.
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        environ = {**os.environ, "TMPDIR": folder}
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ) as process:
            assert process.stdout and process.stdout.readline() == b"sending\n"
            running = children_of(process.pid)
            assert processes(running) and any(Path(folder).iterdir())
            process.kill()
        deadline = time.monotonic() + DEADLINE_S
        while processes(running) or any(Path(folder).iterdir()):
            assert time.monotonic() < deadline, "ssh goes on"
            time.sleep(0.05)


def endless_file(trial: Trial) -> Path:
    """A file of a terabyte that takes no room."""
    with (trial.home / "endless").open("wb") as file:
        file.truncate(1 << 40)
    return trial.home / "endless"


def children_of(parent: int) -> list[str]:
    """The leaders of the sessions in which ssh runs."""
    words = ["ps", "-o", "pid=", "--ppid", str(parent)]
    return subprocess.run(words, capture_output=True, text=True).stdout.split()


def processes(sessions: list[str]) -> list[str]:
    """The processes of these sessions that have not ended."""
    words = ["ps", "-o", "stat=,args=", "-s", ",".join(sessions)]
    lines = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
    return [line for line in lines if not line.startswith("Z")]


def test_ctrl_c_is_heard_while_the_host_is_silent(trial: Trial) -> None:
    """ssh itself notices after half a minute that nobody answers."""
    listener, talks = socket.create_server(("127.0.0.1", 0)), threading.Event()
    talks.set()
    threading.Thread(target=pass_on, args=(listener, trial.server.port, talks), daemon=True).start()
    port = listener.getsockname()[1]
    (trial.home / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{port} ssh-ed25519 {trial.server.key.get_base64()}")
    link = open_ssh(Host("a", "127.0.0.1", ssh=SshSettings("kim", port)))
    errors: list[HvdockerError] = []

    def silence(done: int) -> None:
        if done > 8 * MB:
            talks.clear()
            raise HvdockerError("interrupted")

    def upload() -> None:
        try:
            link.run(shell("cat > /dev/null"), input_from_file(endless_file(trial), silence, 1 << 40))
        except HvdockerError as error:
            errors.append(error)

    uploading = threading.Thread(target=upload, daemon=True)
    uploading.start()
    uploading.join(DEADLINE_S)
    heard = [error.what for error in errors]
    talks.set()
    link.close()
    with contextlib.suppress(OSError):  # macOS
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    assert heard == ["interrupted"]


def pass_on(listener: socket.socket, port: int, talks: threading.Event) -> None:
    """Connect what comes to `listener` with `port`. Nothing passes while `talks` is not set."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                talks.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(("127.0.0.1", port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=copy, args=ends, daemon=True).start()


def test_a_host_that_allows_one_session_gets_it_through_the_open_connection(trial: Trial) -> None:
    """MaxSessions 1: the session of the login is the only one there."""
    trial.server.allows = lambda connection, session: connection == 1 or session == 1
    for content in (large(), input_from_file(trial.file(), lambda done: None, len(CONTENT))):
        assert trial.link.run(shell("sha256sum"), content).text.split()[0] == HASH
    assert trial.logins == 2, "it was tried again"


def test_a_host_that_ends_a_second_login_at_once_gets_it_through_the_open_connection(trial: Trial) -> None:
    """As with `maxlogins` of PAM: the key is accepted, but no session begins."""

    def allows(connection: int, session: int) -> bool:
        if connection > 1:
            trial.server.drop(1)
        return True

    trial.server.allows = allows
    assert trial.link.run(shell("sha256sum"), large()).text.split()[0] == HASH
    assert trial.logins == 2


def test_a_folder_for_temporary_files_may_have_any_name(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = trial.home / "100%h of my files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert trial.link.run(shell("sha256sum"), large()).text.split()[0] == HASH
    assert trial.logins == 2 and not any(folder.iterdir())


def test_a_command_that_ends_early_is_not_fed_to_the_end(trial: Trial) -> None:
    result = trial.link.run(shell("exit 5"), LargeInput([CONTENT] * 30, 90 * MB))
    assert result.code == 5
