"""Commands start, end and are ended as a shell would have it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from inside.runtime.child import Child, StartError, start


def run(*command: str, workdir: str = "/") -> Child:
    return start(command, {"PATH": os.environ["PATH"]}, workdir, 60, subprocess.PIPE)


def ended(child: Child) -> None:
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.has_ended()


def test_a_code_is_kept() -> None:
    child = run("sh", "-c", "exit 3")
    ended(child)
    assert child.reap()[:2] == (3, None)


def test_a_signal_becomes_128_and_more() -> None:
    child = run("sh", "-c", "kill -9 $$")
    ended(child)
    assert child.reap()[:2] == (137, signal.SIGKILL)


def test_an_end_reaches_the_whole_group() -> None:
    child = run("sh", "-c", "sleep 600 & echo ready; wait")
    assert child.process.stdout is not None
    assert child.process.stdout.readline() == b"ready\n"
    child.end()
    ended(child)
    assert child.reap()[:2] == (143, signal.SIGTERM)
    # The pipe ends only when every process of the group has let go of it.
    assert child.process.stdout.read() == b""


def test_what_a_command_leaves_behind_is_killed() -> None:
    child = run("sh", "-c", "sleep 600 & exit 0")
    ended(child)
    assert child.reap()[:2] == (0, None)
    assert child.process.stdout is not None
    assert child.process.stdout.read() == b""


def test_a_command_that_will_not_end_is_killed_after_its_grace() -> None:
    child = start(["sh", "-c", "trap '' TERM; echo ready; sleep 600"], os.environ, "/", 0, subprocess.PIPE)
    assert child.process.stdout is not None
    child.process.stdout.readline()
    assert child.wait_ms() is None
    child.end()
    child.tick()
    ended(child)
    assert child.reap()[:2] == (137, signal.SIGKILL)


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("no-such-command", 127, "command not found: no-such-command"),
        ("/etc/passwd", 126, "Permission denied"),
    ],
)
def test_a_command_that_cannot_start_says_why(command: str, code: int, message: str) -> None:
    with pytest.raises(StartError, match=message) as caught:
        run(command)
    assert caught.value.code == code


def test_a_missing_folder_is_not_taken_for_a_missing_command(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot enter the folder"):
        run("true", workdir=str(tmp_path / "none"))
