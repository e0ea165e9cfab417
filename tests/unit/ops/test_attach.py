"""Watching a job that somebody else started, and learning how one ended."""

import json
from pathlib import Path

import pytest

from hvdocker.errors import HostUnreachable, HvdockerError, JobFailed
from hvdocker.model.job import JobRecord, RankEnd
from hvdocker.model.output import Line
from hvdocker.model.past import Papers, read_past
from hvdocker.model.placement import Placement
from hvdocker.ops.attach import LAST_LINES, AttachViewer, _follow, _from_home, _last_words
from hvdocker.ops.ending import Ended, verdict
from hvdocker.ops.finding import Found, Sighting
from hvdocker.ops.home import HomeJob
from hvdocker.ops.watch import JobEnd
from tests.unit.builders import host_seen, master, state_of
from tests.unit.ops.conftest import LogLink

JOB = "train-abcd"
MASTER = master(JOB, '{"a":1,"b":1}')
STATE = state_of(host_seen("a", containers=(MASTER,)))
RECORD = {
    "job": JOB, "state": "failed", "code": 1, "started": 1.0, "finished": 2.0,
    "first_failure": {"rank": 1, "host": "b", "code": 3},
}  # fmt: skip


def found(link: LogLink) -> Found:
    return Found(JOB, Sighting(STATE, {"a": link}), MASTER)


def test_the_last_lines_then_what_comes(link: LogLink) -> None:
    link.logged.log = [(n // 10, f"[{n % 2}]<stdout>:line {n}\n".encode()) for n in range(3000)]
    told: list[tuple[str, Placement]] = []
    heard: list[Line] = []
    last: dict[int, tuple[str, ...]] = {}
    viewer = AttachViewer(lambda job, placement: told.append((job, placement)), heard.append)
    link.logged.is_running = True
    _follow(found(link), viewer, last)
    assert told == [(JOB, found(link).placement)]
    assert [line.text for line in heard] == [f"line {n}" for n in range(3000 - LAST_LINES, 3000)]
    assert last[1] == tuple(f"line {n}" for n in range(2981, 3000, 2))


def test_the_last_words_of_a_rank_that_failed_before_anybody_looked(link: LogLink) -> None:
    link.logged.log = [(1, b"[1]<stderr>:oh no\n"), (2, b"[0]<stdout>:hm\n")]
    record = JobRecord.read(json.dumps(RECORD))
    assert record is not None and record.first_failure == RankEnd(1, "b", 3)
    assert _last_words(found(link), JobEnd(record, 1)) == {1: ("oh no",)}
    assert _last_words(found(link), JobEnd(None, 1)) == {}


def home(tmp_path: Path, record: object) -> HomeJob:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "output.log").write_text("[1]<stderr>:oh no\n[0]<stdout>:hm\n")
    return HomeJob(read_past(JOB, Papers(record=json.dumps(record))), tmp_path)


def test_of_a_job_that_was_taken_down_what_came_home_tells(tmp_path: Path) -> None:
    report = _from_home(Found(JOB, Sighting(STATE, {}), None, home(tmp_path, RECORD)))
    with pytest.raises(JobFailed, match="rank 1 failed with exit code 3") as caught:
        verdict(Ended(report.job, report.placement, report.end, report.last_lines))
    assert caught.value.lines == ("oh no",)


def test_a_job_whose_end_nobody_saw(tmp_path: Path) -> None:
    at_home = home(tmp_path, {"state": "running", "started": 1.0})
    with pytest.raises(HvdockerError, match="how train-abcd ended is not known"):
        _from_home(Found(JOB, Sighting(STATE, {}), None, at_home))
    away: dict[str, HvdockerError] = {"b": HostUnreachable("refused", host="b")}
    with pytest.raises(HostUnreachable):
        _from_home(Found(JOB, Sighting(STATE, {}, away), None, at_home))
