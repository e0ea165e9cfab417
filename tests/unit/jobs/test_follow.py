"""Ctrl-C in front of a job: what is ended where, and what the person is told."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hvdocker.env import Env
from hvdocker.errors import CommandTimeout, ExitCode, HvdockerError
from hvdocker.inventory.locate import Located
from hvdocker.jobs.follow import JobFollower
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.shell.command import Command
from hvdocker.transport.session import Session
from tests.unit.builders import inventory
from tests.unit.fakes import Answer, FakeEngine, FakeLink
from tests.unit.jobs.conftest import LogEngine, LogLink

JOB = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("a", 1), Share("b", 1))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=(),
    launcher=JobLauncher("horovod"),
    workdir="/train",
)
FOLDER = "/home/x/.hvdocker/lab/a/jobs/train-abcd"


@dataclass
class Head(LogEngine):
    """Its supervisor ends when it is asked, unless the person presses Ctrl-C again."""

    is_pressed_again: bool = False
    is_running: bool = True

    def stop(self, container: str, timeout: int) -> None:
        if self.is_pressed_again:
            raise KeyboardInterrupt
        self.is_running, self.exit_code = False, 143

    def kill(self, container: str) -> None:
        self.is_running, self.exit_code = False, 137


@dataclass
class Worker(FakeEngine):
    """A rank of the job runs in it; what is asked inside is its signal, which it does not heed."""

    signals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.files["/run/hvdocker/ranks/train-abcd"] = json.dumps({"rank": 1, "pid": 40}).encode()

    def exec_create(self, container: str, argv: list[str], **how: Any) -> dict[str, str]:
        assert container == "hvdocker-lab-worker"
        self.signals.append(argv[4])
        return {"Id": "e1"}

    def exec_start(self, made: str, demux: bool) -> tuple[bytes, None]:
        return b"40\n", None

    def exec_inspect(self, made: str) -> dict[str, int]:
        return {"ExitCode": 0}


class Lost(Worker):
    def get_archive(self, container: str, path: str) -> Any:
        raise ConnectionError("broken")


@dataclass
class WorkerLink(FakeLink):
    held: Worker = field(default_factory=Worker)

    def engine(self) -> Worker:
        return self.held


def nothing_on_host(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    return 1, b"", b"No such file or directory"


def press() -> None:
    raise KeyboardInterrupt


def follower(
    folder: Path,
    head: LogEngine,
    others: Mapping[str, WorkerLink],
    stopping: Callable[[], None] = lambda: None,
    answer: Answer = nothing_on_host,
) -> JobFollower:
    located = Located(inventory("hosts: [a, b]"), folder / "inventory.yaml")
    return JobFollower(
        Env(cwd=folder),
        located,
        Session({"a": LogLink("a", answer, logged=head), **others}, {}),
        JOB,
        folders={"a": FOLDER, "b": FOLDER},
        workers={"b": "hvdocker-lab-worker"},
        on_line=lambda line: None,
        stopping=stopping,
        clean_up=lambda end: None,
    )


def ctrl_c(
    folder: Path, head: Head, others: Mapping[str, WorkerLink], stopping: Callable[[], None] = lambda: None
) -> HvdockerError:
    return follower(folder, head, others, stopping).stop_on_ctrl_c()


@dataclass
class Ended(LogEngine):
    """A job that has succeeded. `reads` are the files that were read from its container."""

    reads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        record = {"job": JOB.job, "state": "succeeded", "started": 1.0, "output_lines": 7}
        self.files["/run/hvdocker/record.json"] = json.dumps(record).encode()

    def get_archive(self, container: str, path: str) -> Any:
        self.reads.append(path)
        return super().get_archive(container, path)


def test_a_job_that_has_ended_is_asked_for_its_record_once(tmp_path: Path) -> None:
    head = Ended(log=[(1, b"the last line\n")])
    end = follower(tmp_path, head, {"b": WorkerLink("b")}).follow_to_end()
    assert end.state == "succeeded"
    assert head.reads == ["/run/hvdocker/record.json"]
    (saved,) = tmp_path.glob(".hvdocker/jobs/train-abcd/logs/output.log")
    assert saved.read_text().startswith("hvdocker: the first 6 lines of the output are missing")


@pytest.mark.parametrize(
    ("copy", "reads"),
    [
        ({"state": "succeeded", "code": 0}, []),
        ({"state": "running", "code": None}, ["/run/hvdocker/record.json"]),
        ({"state": "failed", "code": 1}, ["/run/hvdocker/record.json"]),
        ({"state": "succeeded", "code": 0, "job": "train-efgh"}, ["/run/hvdocker/record.json"]),
        ({"job": None}, ["/run/hvdocker/record.json"]),
    ],
    ids=["final", "not written to the end", "of another end", "of another job", "not a record"],
)
def test_the_record_is_read_from_the_host_if_it_is_the_final_one_there(
    tmp_path: Path, copy: dict[str, Any], reads: list[str]
) -> None:
    def host(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
        assert command.argv[-1] == f"{FOLDER}/logs/record.json"
        record = {"job": JOB.job, "started": 1.0, "output_lines": 7, **copy}
        return 0, json.dumps(record).encode(), b""

    head = Ended(log=[(1, b"the last line\n")])
    end = follower(tmp_path, head, {"b": WorkerLink("b")}, answer=host).follow_to_end()
    assert (end.state, end.exit_code, head.reads) == ("succeeded", 0, reads)


def test_the_record_is_read_from_the_container_if_the_home_hangs(tmp_path: Path) -> None:
    def host(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
        raise CommandTimeout("a command printed nothing for 10 s", host="a")

    head = Ended(log=[(1, b"the last line\n")])
    end = follower(tmp_path, head, {"b": WorkerLink("b")}, answer=host).follow_to_end()
    assert (end.state, end.exit_code, head.reads) == ("succeeded", 0, ["/run/hvdocker/record.json"])


def test_once_leaves_ranks_elsewhere_to_the_supervisor(tmp_path: Path) -> None:
    worker = Worker()
    error = ctrl_c(tmp_path, Head(), {"b": WorkerLink("b", held=worker)})
    assert str(error) == "job train-abcd was stopped on all hosts by Ctrl-C"
    assert worker.signals == []


def test_twice_as_soon_as_that_is_told_ends_the_job_too(tmp_path: Path) -> None:
    worker, head = Worker(), Head()
    error = ctrl_c(tmp_path, head, {"b": WorkerLink("b", held=worker)}, press)
    assert str(error) == "job train-abcd was stopped on all hosts by Ctrl-C"
    assert not head.is_running and worker.signals


def test_twice_ends_ranks_elsewhere_at_once(tmp_path: Path) -> None:
    worker = Worker()
    error = ctrl_c(tmp_path, Head(is_pressed_again=True), {"b": WorkerLink("b", held=worker)})
    assert str(error) == "job train-abcd was stopped on all hosts by Ctrl-C"
    assert worker.signals == ["TERM", "KILL"]


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"b": WorkerLink("b", held=Lost())}, "b: the connection was lost: looking for ranks of train-abcd"),
        ({}, "b: it is not connected"),
    ],
    ids=["lost", "never reached"],
)
def test_a_host_on_which_ranks_may_be_left_is_named(tmp_path: Path, others: Mapping[str, WorkerLink], why: str) -> None:
    error = ctrl_c(tmp_path, Head(is_pressed_again=True), others)
    assert str(error) == "job train-abcd was stopped by Ctrl-C; ranks may be left on b"
    assert (error.lines, error.exit_code) == ((why,), ExitCode.INTERRUPTED)
    assert error.fix and error.fix.endswith("hvdocker stop train-abcd")


def test_a_log_that_cannot_be_saved_here_does_not_change_how_the_job_ended(tmp_path: Path) -> None:
    (tmp_path / ".hvdocker").write_text("not a folder")
    error = ctrl_c(tmp_path, Head(), {"b": WorkerLink("b")})
    assert (str(error), error.exit_code) == ("job train-abcd was stopped on all hosts by Ctrl-C", ExitCode.INTERRUPTED)
