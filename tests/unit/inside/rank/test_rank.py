"""A whole rank through its wrapper, with the folders of a container of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inside.checks.wait_gone import is_alive
from inside.runtime.processes import processes

from hvdocker.protocol.marks import extract_mark

IMAGE = Path(__file__).parents[4] / "images" / "doc-hvd"
# A program of the image with the folder of a container of its own.
PROGRAM = """
import sys
from importlib import import_module
from pathlib import Path
sys.exit(import_module(sys.argv[1]).main(["j"], Path(sys.argv[2])))
"""
# As the image does it, where a .pth file is read at every start.
ASKABLE = "import hvdocker_stacks; hvdocker_stacks.install()\n"


class Container:
    """What a rank finds in its container, and one rank in it."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.job = run / "jobs" / "j"
        (self.job / "logs").mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{IMAGE / 'lib'}:{IMAGE / 'stacks'}",
            "HOROVOD_RANK": "3",
        }
        self.started: list[subprocess.Popen[bytes]] = []

    def rank(self, *command: str, **more: Any) -> "subprocess.Popen[bytes]":  # Any: JSON
        hosts = [{"name": "a", "address": "127.0.0.1", "slots": 4}]
        job = {"format": 2, "job": "j", "cluster": "c", "host": "a", "hosts": hosts, "command": command}
        job.update(
            {"launcher": {"name": "horovod"}, "workdir": str(self.run), "endurance": {"hang_after_s": 1.0}, **more}
        )
        (self.job / "job.json").write_text(json.dumps(job))
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "inside.rank.rank", str(self.run)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def log(self) -> list[str]:
        return (self.job / "logs" / "rank-3.log").read_text().splitlines()

    def roster(self) -> list[str]:
        return sorted(path.name for path in (self.run / "ranks" / "j").iterdir())

    def stacks(self) -> dict[str, Any]:  # Any: JSON
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "inside.hang.stacks", str(self.run)],
            capture_output=True,
            check=True,
            env=self.env,
        )
        found: dict[str, Any] = json.loads(done.stdout)  # Any: JSON
        return found


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    made = Container(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)


def marks_of(stream: bytes) -> tuple[bytes, list[dict[str, Any]]]:  # Any: JSON
    taken = [extract_mark(line) for line in stream.splitlines(keepends=True)]
    return b"".join(kept for kept, _ in taken), [mark for _, mark in taken if mark]


def first_line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_rank_passes_its_output_on_and_keeps_it(container: Container) -> None:
    out, err = container.rank("sh", "-c", "echo on stdout; exec >&2; echo on stderr; exit 7").communicate()
    words, (start, *_, end) = marks_of(err)
    assert (out, words) == (b"on stdout\n", b"on stderr\n")
    assert (start["event"], start["interface"]) == ("rank-start", "lo")
    assert (end["event"], end["code"], end["oom"]) == ("rank-exit", 7, False)
    head, *rest = container.log()
    assert head.startswith("hvdocker: rank 3 on a, start 0, ") and head.endswith(" UTC")
    assert rest == ["on stdout", "on stderr"]
    assert json.loads((container.job / "logs" / "rank-3.json").read_text())["oom"] is False


def test_a_second_start_is_told_to_the_script_and_in_the_log(container: Container) -> None:
    container.rank("sh", "-c", "echo start $HVDOCKER_RESTART").communicate()
    container.env["HVDOCKER_RESTART"] = "1"
    container.rank("sh", "-c", "echo start $HVDOCKER_RESTART").communicate()
    lines = container.log()
    assert [lines[1], lines[3]] == ["start 0", "start 1"]
    assert "start 1, " in lines[2]


def test_a_secret_is_in_no_log(container: Container) -> None:
    folder = container.run / "secrets" / "j"
    folder.mkdir(parents=True)
    (folder / "TOKEN").write_text("s3cr3t")
    container.rank("sh", "-c", 'cat "$HVDOCKER_SECRETS/TOKEN"', secrets=["TOKEN"]).communicate()
    assert container.log()[1:] == ["***"]


@pytest.mark.parametrize(
    ("resilience", "stays"),
    [({}, False), ({"restarts": 1}, True), ({"elastic": {"min_np": 1, "max_np": None}}, True)],
    ids=["the last run", "may be run again", "elastic"],
)
def test_secrets_of_a_rank_without_launcher_stay_where_it_may_be_started_again(
    container: Container,
    resilience: dict[str, Any],
    stays: bool,  # Any: JSON
) -> None:
    folder = container.run / "secrets" / "j"
    folder.mkdir(parents=True)
    (folder / "TOKEN").write_text("s3cr3t")
    process = container.rank("sh", "-c", "echo in; exec sleep 600", secrets=["TOKEN"], endurance=resilience)
    assert first_line(process) == b"in\n" and process.stdout is not None
    process.stdout.close()
    process.stdout = None
    process.wait(timeout=60)
    assert folder.exists() == stays


def test_a_command_that_is_not_there_is_named_in_the_log(container: Container) -> None:
    process = container.rank("no-such-command")
    process.communicate()
    assert process.returncode == 127
    assert container.log()[1:] == ["hvdocker: command not found: no-such-command"]


def test_a_host_that_keeps_no_log_still_trains(container: Container) -> None:
    (container.job / "logs").rmdir()
    out, err = container.rank("echo", "trained").communicate()
    assert out == b"trained\n"
    assert err.count(b"hvdocker: cannot keep rank-3.log on this host: ") == 1


def test_a_rank_that_waits_gives_signs_of_life(container: Container) -> None:
    process = container.rank("sh", "-c", "echo ready; sleep 600")
    assert process.stderr is not None
    marks = [extract_mark(process.stderr.readline())[1] for _ in range(3)]
    assert [mark["event"] for mark in marks if mark] == ["rank-start", "rank-beat", "rank-beat"]
    assert marks[2] is not None and marks[2]["out_bytes"] == 6 and marks[2]["rss_kb"] > 0
    assert (marks[2]["rank"], marks[2]["host"]) == (3, "a")


def test_nothing_of_a_rank_stays(container: Container) -> None:
    process = container.rank("sh", "-c", "echo $$; ls -d $HVDOCKER_STACKS; read line < fifo")
    os.mkfifo(container.run / "fifo")
    pid = int(first_line(process))
    assert first_line(process).decode().strip() == str(container.run / "stacks" / "j" / "3")
    entry = json.loads((container.run / "ranks" / "j" / "3.json").read_text())
    wrapper = entry.pop("wrapper")
    assert entry == {"rank": 3, "pid": pid, "host": "a"}
    assert wrapper == next(one.parent for one in processes() if one.pid == pid)
    process.terminate()
    process.communicate(timeout=60)
    assert container.roster() == []
    assert not (container.run / "stacks" / "j" / "3").exists()


@pytest.mark.parametrize("left", ["sleep 600", 'sh -c "trap : TERM; while :; do sleep 0.1; done"'])
def test_what_a_rank_started_in_a_session_of_its_own_ends_with_it(container: Container, left: str) -> None:
    """Also where it does not listen, and where it started more."""
    service = f"echo $$; setsid {left} & echo $!; : > begun; wait"
    script = f"setsid sh -c '{service}' & while [ ! -e begun ]; do sleep 0.01; done; exit 5"
    process = container.rank("sh", "-c", script)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 5
    pids = [int(pid) for pid in out.split()]
    assert len(pids) == 2 and not any(is_alive(pid) for pid in pids)


def test_orphans_are_reaped_while_the_rank_runs(container: Container) -> None:
    """They come to the wrapper, not to the container's first process."""
    script = "sh -c 'sh -c \"echo \\$\\$; exec cat fifo > /dev/null\" & exit 0'; read line < stay"
    os.mkfifo(container.run / "fifo")
    os.mkfifo(container.run / "stay")
    process = container.rank("sh", "-c", script)
    orphan = int(first_line(process))
    (container.run / "fifo").write_text("go\n")
    deadline = time.monotonic() + 60
    while Path(f"/proc/{orphan}").exists():
        assert time.monotonic() < deadline, "still there, or a zombie"
        time.sleep(0.01)
    assert process.poll() is None
    (container.run / "stay").write_text("go\n")
    assert process.wait(60) == 0


def test_a_wrapper_that_is_killed_leaves_no_session_of_its_rank_either(container: Container) -> None:
    process = container.rank("sh", "-c", "setsid sh -c 'echo $$; exec sleep 600' & read x < fifo; echo $PPID; wait")
    os.mkfifo(container.run / "fifo")
    left = int(first_line(process))
    (container.run / "fifo").write_text("go\n")
    os.kill(int(first_line(process)), signal.SIGKILL)
    process.communicate(timeout=60)
    assert (process.returncode, is_alive(left)) == (137, False)


def test_a_wrapper_that_is_killed_leaves_nothing_either(container: Container) -> None:
    process = container.rank("sh", "-c", "echo $PPID; exec sleep 600")
    os.kill(int(first_line(process)), signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == 137
    assert container.roster() == []


def test_python_says_where_it_is_on_a_signal(container: Container) -> None:
    """And so does a child that it forked."""
    script = ASKABLE + (
        "import os, time\n"
        "def stuck_here():\n    os.write(1, b'ready\\n'); time.sleep(600)\n"
        "def forked_child():\n    os.write(1, b'ready\\n'); time.sleep(600)\n"
        "if os.fork() == 0: forked_child()\n"
        "stuck_here()\n"
    )
    process = container.rank(sys.executable, "-c", script)
    assert [first_line(process), first_line(process)] == [b"ready\n", b"ready\n"]
    told = container.stacks()
    (rank,) = told["ranks"]
    assert (told["host"], told["gpus"], rank["rank"], rank["how"]) == ("a", "", 3, "faulthandler")
    own, child = rank["text"].split("\nprocess ")
    assert own.startswith(f"process {rank['pid']} (S): {sys.executable} -c ") and "in stuck_here" in own
    assert "in forked_child" in child


def test_a_program_that_does_not_listen_is_not_signalled(container: Container) -> None:
    process = container.rank("sh", "-c", "echo ready; read line < fifo; echo alive")
    os.mkfifo(container.run / "fifo")
    assert first_line(process) == b"ready\n"
    (rank,) = container.stacks()["ranks"]
    assert (rank["how"], "it is not a Python process" in rank["text"]) == ("none", True)
    (container.run / "fifo").write_text("on\n")
    assert first_line(process) == b"alive\n"


def test_a_python_that_closed_what_it_would_write_to_is_not_signalled(container: Container) -> None:
    script = ASKABLE + "import os; os.closerange(3, 400); print('ready', flush=True); input()"
    process = container.rank("sh", "-c", f'exec {sys.executable} -c "$0" < fifo', script)
    os.mkfifo(container.run / "fifo")
    with (container.run / "fifo").open("w"):
        assert first_line(process) == b"ready\n"
        (rank,) = container.stacks()["ranks"]
    assert (rank["how"], "the file for its stacks is not open" in rank["text"]) == ("none", True)


def test_py_spy_is_asked_first_and_the_signal_where_it_fails(container: Container) -> None:
    tools = container.run / "tools"
    tools.mkdir()
    container.env["PATH"] = f"{tools}:{container.env['PATH']}"
    spy = tools / "py-spy"
    spy.write_text("#!/bin/sh\necho Thread 1 of $4\n")
    spy.chmod(0o755)
    process = container.rank(sys.executable, "-c", ASKABLE + "print('ready', flush=True); import time; time.sleep(600)")
    assert first_line(process) == b"ready\n"
    (rank,) = container.stacks()["ranks"]
    assert (rank["how"], rank["text"].splitlines()[-1]) == ("py-spy", f"Thread 1 of {rank['pid']}")
    spy.write_text("#!/bin/sh\necho Permission denied; exit 1\n")
    (rank,) = container.stacks()["ranks"]
    assert (rank["how"], "Current thread" in rank["text"]) == ("faulthandler", True)


def test_gpu_use_is_told_where_there_are_gpus(container: Container) -> None:
    tools = container.run / "tools"
    tools.mkdir()
    container.env["PATH"] = f"{tools}:{container.env['PATH']}"
    (tools / "nvidia-smi").write_text("#!/bin/sh\necho $1\n")
    (tools / "nvidia-smi").chmod(0o755)
    container.rank("true").communicate()
    told = container.stacks()
    assert told["ranks"] == []
    assert [line.split("=")[0] for line in told["gpus"].splitlines()] == [
        "--query-gpu",
        "--query-compute-apps",
    ]
