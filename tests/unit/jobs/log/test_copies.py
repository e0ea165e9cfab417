"""A job's output without its container."""

import re
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.events import Event
from hvdocker.jobs.history import PastJob
from hvdocker.jobs.local_jobs import LocalJob
from hvdocker.jobs.log.copies import find_log_copy, last_matching
from hvdocker.jobs.log.since import Since
from hvdocker.jobs.logs import LogsRequest, _from_copies, line_filter, why_no_container
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.protocol.output import Line, LineFilter
from hvdocker.protocol.placement import Placement, Share
from hvdocker.shell.command import Command
from tests.unit.builders import host_seen, state_of
from tests.unit.fakes import FakeLink

JOB = "train-abcd"
PLACEMENT = Placement((Share("a", 1), Share("b", 2)))
AWAY: dict[str, HvdockerError] = {"a": HostUnreachable("a:22 did not answer", host="a")}
STATE = state_of(host_seen("b", job_folders=(JOB,), cluster_dir="/home/b/.hvdocker/lab"))


def rank_files(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    """A host with the files of ranks 1 and 2."""
    path = command.argv[4]
    if path.endswith("/jobs/train-abcd"):
        return 0, b"rank-1.log\nrank-2.log\n", b""
    return 0, f"header\nlast words of {path.rpartition('/')[2]}\r\n".encode(), b""


def no_files(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    return 0, b"", b""


def home(tmp_path: Path, **files: str) -> LocalJob:
    for name, text in files.items():
        path = tmp_path / "logs" / name.replace("_", "-").replace("-log", ".log")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return LocalJob(PastJob(JOB), tmp_path)


def found(at_home: LocalJob | None, answer: object = no_files, **how: object) -> FoundJob:
    link = FakeLink("b", answer)  # type: ignore[arg-type]  # one of the above
    return FoundJob(JOB, JobsSeen(STATE, {"b": link}, AWAY, AWAY), None, at_home, PLACEMENT)


def test_the_copy_at_home_comes_first(tmp_path: Path) -> None:
    text = "launching\n[0]<stdout>:one\n[2]<stderr>:two\n"
    copy = find_log_copy(found(home(tmp_path, output_log=text), rank_files))
    assert copy.where == f"the copy at home, {tmp_path / 'logs' / 'output.log'}"
    assert list(copy.lines) == [Line("launching"), Line("one", 0, "a"), Line("two", 2, "b", True)]


def test_else_what_the_hosts_kept_of_every_rank() -> None:
    copy = find_log_copy(found(None, rank_files))
    assert copy.where == "what the ranks on b said, rank by rank"
    assert list(copy.lines) == [
        Line("header", 1, "b"),
        Line("last words of rank-1.log", 1, "b"),
        Line("header", 2, "b"),
        Line("last words of rank-2.log", 2, "b"),
    ]


def test_else_what_came_home_of_single_ranks(tmp_path: Path) -> None:
    copy = find_log_copy(found(home(tmp_path, rank_2_log="two\n", rank_0_log="zero\n")))
    assert list(copy.lines) == [Line("zero", 0, "a"), Line("two", 2, "b")]


def test_where_nothing_is_left_the_host_that_is_away_is_the_error() -> None:
    with pytest.raises(HostUnreachable, match="did not answer"):
        find_log_copy(found(None))
    with pytest.raises(HvdockerError, match="the output of train-abcd is gone"):
        find_log_copy(FoundJob(JOB, JobsSeen(STATE, {"b": FakeLink("b")})))


def test_lines_are_counted_after_the_filter() -> None:
    lines = [Line(f"step {n}", n % 2, "ab"[n % 2]) for n in range(10)]
    assert [line.text for line in last_matching(lines, LineFilter(frozenset({1})), 2)] == ["step 7", "step 9"]
    assert [line.text for line in last_matching(lines, LineFilter(hosts=frozenset({"a"})), None)] == [
        "step 0", "step 2", "step 4", "step 6", "step 8"
    ]  # fmt: skip
    assert [line.text for line in last_matching(lines, LineFilter(pattern=re.compile("[34]$")), 9)] == [
        "step 3",
        "step 4",
    ]
    assert list(last_matching(lines, LineFilter(), 0)) == []


def test_the_launchers_lines_are_no_ranks_and_no_hosts() -> None:
    launcher = Line("launching rank 0")
    assert [
        LineFilter().matches(launcher),
        LineFilter(ranks=frozenset({0})).matches(launcher),
        LineFilter(hosts=frozenset({"a"})).matches(launcher),
        line_filter([], [], "rank").matches(launcher),
    ] == [True, False, False, True]


def test_it_is_said_where_the_lines_come_from(tmp_path: Path) -> None:
    said: list[Event] = []
    heard: list[Line] = []
    wish = LogsRequest(tail=1, since=Since(ago_s=5))
    _from_copies(Env(cwd=tmp_path, listener=said.append), found(None, rank_files), wish, heard.append)
    assert [line.text for line in heard] == ["last words of rank-2.log"]
    assert [event.text for event in said] == [
        "a, which has the job's container, is away (a:22 did not answer); "
        "these lines are what the ranks on b said, rank by rank",
        "it tells no times: --since is left out",
    ]


def test_who_follows_a_job_whose_head_is_away_is_told_so_at_the_end(tmp_path: Path) -> None:
    heard: list[Line] = []
    with pytest.raises(HostUnreachable):
        _from_copies(Env(cwd=tmp_path), found(None, rank_files), LogsRequest(follows=True), heard.append)
    assert len(heard) == 4


def test_why_there_is_no_container() -> None:
    unplaced = FoundJob(JOB, JobsSeen(STATE, {}, AWAY))
    gone = FoundJob(JOB, JobsSeen(STATE, {}), None, None, PLACEMENT)
    assert [why_no_container(unplaced), why_no_container(gone)] == [
        "the job's container is on none of the hosts that answer (a away)",
        "the job's container is gone",
    ]
