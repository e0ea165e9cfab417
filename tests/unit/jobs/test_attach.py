"""Watching a job that somebody else started, and learning how one ended."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hvdocker.env import Env
from hvdocker.errors import ExitCode, HeadLost, HostUnreachable, HvdockerError, JobFailed
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.attach import (
    LAST_LINES,
    AttachReport,
    AttachViewer,
    _end,
    _follow,
    _follow_to_end,
    _last_lines_of_failed_rank,
    _report_from_local_copy,
)
from hvdocker.jobs.history import JobTexts, read_past_job
from hvdocker.jobs.local_jobs import LocalJob
from hvdocker.jobs.log.reconnect import Reconnect
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.jobs.outcome import EndedJob, JobEnd, raise_unless_succeeded
from hvdocker.protocol.output import Line
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import JobRecord
from hvdocker.transport.session import Session
from tests.unit.builders import host_seen, inventory, master, state_of
from tests.unit.jobs.conftest import LogEngine, LogLink

JOB = "train-abcd"
MASTER = master(JOB, '{"a":1,"b":1}')
STATE = state_of(host_seen("a", containers=(MASTER,)))
RECORD = {
    "job": JOB, "state": "failed", "code": 1, "started": 1.0, "finished": 2.0,
    "first_failure": {"rank": 1, "host": "b", "code": 3},
}  # fmt: skip


def found(link: LogLink) -> FoundJob:
    return FoundJob(JOB, JobsSeen(STATE, {"a": link}), MASTER)


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
    assert _last_lines_of_failed_rank(found(link), JobEnd(record, 1)) == {1: ("oh no",)}
    assert _last_lines_of_failed_rank(found(link), JobEnd(None, 1)) == {}


def home(tmp_path: Path, record: object) -> LocalJob:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "output.log").write_text("[1]<stderr>:oh no\n[0]<stdout>:hm\n")
    return LocalJob(read_past_job(JOB, JobTexts(record=json.dumps(record))), tmp_path)


def test_of_a_job_that_was_taken_down_what_came_home_tells(tmp_path: Path) -> None:
    report = _report_from_local_copy(" -i x.yaml", FoundJob(JOB, JobsSeen(STATE, {}), None, home(tmp_path, RECORD)))
    with pytest.raises(JobFailed, match="rank 1 failed with exit code 3") as caught:
        raise_unless_succeeded(EndedJob(report.job, report.placement, report.end, report.last_lines))
    assert caught.value.lines == ("oh no",)


def test_a_job_whose_end_nobody_saw(tmp_path: Path) -> None:
    at_home = home(tmp_path, {"state": "running", "started": 1.0})
    with pytest.raises(HvdockerError, match="how train-abcd ended is not known") as caught:
        _report_from_local_copy(" -i x.yaml", FoundJob(JOB, JobsSeen(STATE, {}), None, at_home))
    assert str(caught.value.fix).endswith("hvdocker logs train-abcd -i x.yaml")
    away: dict[str, HvdockerError] = {"b": HostUnreachable("refused", host="b")}
    with pytest.raises(HostUnreachable):
        _report_from_local_copy(" -i x.yaml", FoundJob(JOB, JobsSeen(STATE, {}, away), None, at_home))


class CutOff(LogEngine):
    """What follows its log loses the host."""

    def logs(self, container: str, *, stream: bool, follow: bool, **how: Any) -> Iterator[bytes]:
        if follow:
            raise ConnectionError("broken")
        return super().logs(container, stream=stream, follow=follow, **how)


class CutOffBefore(LogEngine):
    """What reads its last lines loses the host."""

    def logs(self, container: str, *, stream: bool, follow: bool, **how: Any) -> Iterator[bytes]:
        raise ConnectionError("broken")


@dataclass
class Desk:
    """Where `attach` runs. Hosts are away for want of a key: no socket is opened."""

    located: Located
    events: list[Event] = field(default_factory=list)

    @property
    def has_gone_for_logs(self) -> bool:
        return any(event.stage == "connect" for event in self.events)

    def attach(self, link: LogLink, verdict: HvdockerError | None = None) -> AttachReport:
        env = Env(cwd=self.located.path.parent, listener=self.events.append)
        reconnect = Reconnect(
            env, self.located, Session({"a": link}, {}), JOB, "a", lambda: verdict, _away, patience_s=0.0
        )
        return _follow_to_end(env, self.located, found(link), AttachViewer(), reconnect)


def _away(env: Env, located: Located, name: str) -> LogLink:
    raise HostUnreachable("did not answer", host=name)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HOME", str(tmp_path))
    lab = inventory("hosts: [a, b]\nssh: {key: /no/such/key}\n")
    return Desk(Located(lab, tmp_path / "inventory.yaml"))


@pytest.mark.parametrize("engine", [CutOff, CutOffBefore])
def test_a_head_that_is_gone_is_named_and_what_is_left_is_brought_home(desk: Desk, engine: type[LogEngine]) -> None:
    gone = HeadLost("the head a does not answer: the job ended with it", fix="when a is back")
    with pytest.raises(HeadLost) as caught:
        desk.attach(LogLink("a", logged=engine(is_running=True)), gone)
    assert caught.value is gone and gone.fix == "when a is back"
    assert desk.has_gone_for_logs


def test_the_last_lines_of_the_failed_rank_are_there_though_only_others_printed_since(desk: Desk) -> None:
    """It printed before the last lines with which `attach` begins."""
    engine = LogEngine(is_running=True, exit_code=1, files={"/run/hvdocker/record.json": json.dumps(RECORD).encode()})
    engine.log = [(0, b"[1]<stderr>:my last words\n")]
    engine.log += [(n // 10, f"[0]<stdout>:line {n}\n".encode()) for n in range(10, 10 + 10 * LAST_LINES)]
    report = desk.attach(LogLink("a", logged=engine))
    assert report.last_lines[1] == ("my last words",)
    assert report.last_lines[0][-1] == f"line {9 + 10 * LAST_LINES}"


def test_a_desk_that_is_cut_off_itself_is_told_that_the_job_goes_on(desk: Desk) -> None:
    with pytest.raises(HostUnreachable) as caught:
        desk.attach(LogLink("a", logged=CutOff(is_running=True)))
    assert not isinstance(caught.value, HeadLost) and not desk.has_gone_for_logs
    assert caught.value.fix == f"the job goes on; watch it with: hvdocker attach {JOB}"


def test_a_head_that_went_down_and_came_back_is_the_error_as_in_train(desk: Desk) -> None:
    with pytest.raises(HeadLost, match="the head a went down while the job ran") as caught:
        desk.attach(LogLink("a", logged=LogEngine(is_running=True, exit_code=255)))
    assert caught.value.exit_code == ExitCode.UNREACHABLE and desk.has_gone_for_logs


def test_so_it_is_of_a_job_that_has_ended_before(link: LogLink, tmp_path: Path) -> None:
    link.logged.exit_code = 255
    with pytest.raises(HeadLost, match="the head a went down"):
        _end(found(link))
    texts = JobTexts(record='{"state": "running", "started": 1.0}', master='{"exit_code": 255}')
    at_home = LocalJob(read_past_job(JOB, texts), tmp_path)
    with pytest.raises(HeadLost, match="the head of the job went down"):
        _report_from_local_copy(" -i x.yaml", FoundJob(JOB, JobsSeen(STATE, {}), None, at_home))
