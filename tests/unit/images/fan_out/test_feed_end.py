"""How a feed ends: told to, by itself, or cleared away by a later run."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hvdocker.images.fan_out import commands
from hvdocker.shell.command import Command

# Far more than a tenth of the idle time that the tests ask for.
DEADLINE_S = 60.0
LONG_AGO = 1_000_000_000


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def run(command: Command, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command.argv, input=stdin, env={**os.environ, **environ}, capture_output=True, timeout=DEADLINE_S
    )


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    # One that ended and that nobody has asked for yet is dead as well.
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process
        process.kill()


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """An sshd that listens nowhere: it writes its pid and waits. No setpriv."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "sshd").write_text('#!/bin/sh\necho $$ > "${4%/*}/sshd.pid"; exec sleep 300\n')
    (folder / "setpriv").write_text("#!/bin/sh\nexit 1\n")
    for program in folder.iterdir():
        program.chmod(0o755)
    return folder


def started(folder: Path, programs: Path, idle_minutes: float) -> int:
    folder.mkdir()
    path = f"{programs}:{os.environ['PATH']}"
    done = run(commands.start_feed(str(folder), [20001], idle_minutes), PATH=path)
    assert (done.returncode, done.stdout) == (0, b"20001\n"), done.stderr
    return int((folder / "sshd.pid").read_text())


def test_a_feed_in_which_nothing_moves_ends_by_itself(tmp_path: Path, programs: Path) -> None:
    folder = tmp_path / "hvdocker-feed-1"
    pid = started(folder, programs, idle_minutes=0.02)
    wait_for(lambda: not folder.exists(), "the feed's folder goes")
    assert not is_alive(pid)


def test_a_feed_in_which_something_moves_goes_on(tmp_path: Path, programs: Path) -> None:
    """It is looked at several times meanwhile: another one, started later, has ended by then."""
    folder, other = tmp_path / "hvdocker-feed-1", tmp_path / "hvdocker-feed-2"
    pid = started(folder, programs, idle_minutes=0.1)
    started(other, programs, idle_minutes=0.02)

    def ends() -> bool:
        (folder / "layer").write_text("more")
        return not other.exists()

    wait_for(ends, "the feed in which nothing moves ends")
    assert is_alive(pid) and folder.exists()
    run(commands.stop_feed(str(folder)))
    assert not folder.exists()
    wait_for(lambda: not is_alive(pid), "the server ends")


def test_the_usual_time_is_ten_minutes() -> None:
    assert commands.start_feed("/f", [1, 2]).argv[-5:] == ("/f", "10", "60", "1", "2")


def test_stopping_waits_until_the_engine_is_through(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    folder = tmp_path / "hvdocker-feed-1"
    folder.mkdir()
    (folder / "loading").write_text(f"{sleeper.pid}\n")
    with subprocess.Popen(commands.stop_feed(str(folder)).argv) as stopping:
        wait_for(lambda: not folder.exists(), "the folder goes")
        assert stopping.poll() is None
        folder.mkdir()  # as if it had not gone, because the load wrote one more file
        (folder / "done-1").touch()
        sleeper.kill()
        sleeper.wait()
        assert stopping.wait(DEADLINE_S) == 0
    assert not folder.exists()


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """What a run left long ago: a folder with a file, both old."""
    folder = tmp_path / "hvdocker-feed-old"
    folder.mkdir()
    (folder / "layer").write_text("half")
    return folder


def age(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        os.utime(path, (LONG_AGO, LONG_AGO))


def unpacked(folder: Path) -> None:
    tar = subprocess.run(["tar", "-cf", "-", "-T", "/dev/null"], capture_output=True, check=True).stdout
    assert run(commands.unpack_feed(str(folder)), tar).returncode == 0
    assert folder.is_dir()


def test_what_a_dead_run_left_goes(tmp_path: Path, left: Path) -> None:
    age(left)
    unpacked(tmp_path / "hvdocker-feed-new")
    assert not left.exists()


def test_a_feed_into_which_one_layer_flows_stays(tmp_path: Path, left: Path) -> None:
    """A growing file does not move its folder's time."""
    age(left)
    with (left / "layer").open("a") as file:
        file.write("more")
    assert left.stat().st_mtime == LONG_AGO
    unpacked(tmp_path / "hvdocker-feed-new")
    assert left.exists()


def test_a_host_that_still_loads_keeps_its_folder(tmp_path: Path, left: Path, sleeper: subprocess.Popen[bytes]) -> None:
    (left / "loading").write_text(f"{sleeper.pid}\n")
    age(left)
    unpacked(tmp_path / "hvdocker-feed-new")
    assert left.exists()
    sleeper.kill()
    sleeper.wait()
    unpacked(tmp_path / "hvdocker-feed-newer")
    assert not left.exists()
