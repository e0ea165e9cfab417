"""A job that is taken down while it is watched, at whatever moment: its container is gone."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound
from requests import Response

from hvdocker.errors import ExitCode, HostUnreachable, HvdockerError, JobStopped
from hvdocker.inventory.locate import Located
from hvdocker.jobs import job_container
from hvdocker.jobs.log.save import missing_beginning, save_log
from hvdocker.jobs.log.tail import read_tail
from hvdocker.jobs.logs import LogsRequest, _from_container
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.jobs.outcome import JobEnd
from hvdocker.protocol.output import Line, LineFilter
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import host_seen, inventory, master, state_of
from tests.unit.jobs.conftest import LogEngine, LogLink

ALONE = Placement((Share("a", 1),))
NAME = "hvdocker-lab-train-abcd"


def refusal(code: int) -> APIError:
    """As the SDK makes one of an engine's answer."""
    answer = Response()
    answer.status_code = code
    return (NotFound if code == 404 else APIError)("no", answer, "no such container")


@dataclass
class Vanishing(LogEngine):
    """Its container is there for so many questions; then logs are refused with that code."""

    questions: int = 0
    code: int = 404
    status: str = ""

    def inspect_container(self, container: str) -> dict[str, Any]:
        self.questions -= 1
        if self.questions < 0 and not self.status:
            raise refusal(404)
        found = super().inspect_container(container)
        return {**found, "State": {**found["State"], "Status": self.status or "running"}}

    def logs(self, container: str, *, stream: bool, follow: bool, **how: Any) -> Iterator[bytes]:
        if self.questions <= 0:
            raise refusal(self.code)
        return super().logs(container, stream=stream, follow=follow, **how)

    def wait(self, container: str, timeout: int) -> None:
        raise refusal(404)

    def stop(self, container: str, timeout: int) -> None:
        raise refusal(404)


def link_to(engine: LogEngine) -> LogLink:
    return LogLink("a", logged=engine)


def kept(link: LogLink, folder: Path) -> None:
    save_log(Located(inventory("hosts: [a]"), folder / "inventory.yaml"), "train-abcd", link, NAME)


@pytest.mark.parametrize(
    ("engine", "look"),
    [
        (Vanishing(), lambda link, folder: job_container.is_running(link, NAME)),
        (Vanishing(), lambda link, folder: job_container.follow_lines(link, NAME, ALONE, lambda line: None)),
        (
            Vanishing(questions=1),
            lambda link, folder: job_container.follow_lines(link, NAME, ALONE, lambda line: None),
        ),
        (Vanishing(), lambda link, folder: list(job_container.read_lines(link, NAME, ALONE))),
        (Vanishing(), lambda link, folder: read_tail(link, NAME, ALONE, 9, LineFilter())),
        (Vanishing(), lambda link, folder: job_container.read_job_end(link, NAME)),
        (
            Vanishing(questions=1, is_running=True),
            lambda link, folder: job_container.read_job_end(link, NAME),
        ),
        (Vanishing(questions=1, exit_code=143), lambda link, folder: job_container.read_job_end(link, NAME)),
        (Vanishing(), lambda link, folder: job_container.stop_job(link, NAME)),
        (Vanishing(), kept),
    ],
    ids=[
        "asked whether it runs",
        "before its first line",
        "after its last line",
        "its lines",
        "its last lines",
        "its end",
        "while its end is awaited",
        "before its record is read",
        "when it is stopped",
        "when its log is kept",
    ],
)
def test_a_job_that_is_taken_down_was_stopped_by_someone_else(
    tmp_path: Path, engine: Vanishing, look: Callable[[LogLink, Path], object]
) -> None:
    with pytest.raises(JobStopped) as caught:
        look(link_to(engine), tmp_path)
    error = caught.value
    assert str(error) == "a: the job was taken down by someone else: its container is gone"
    assert error.exit_code == ExitCode.JOB_STOPPED
    assert error.fix and "hvdocker jobs" in error.fix and "where `down` was run" in error.fix


@pytest.mark.parametrize(("code", "status"), [(409, "removing"), (409, "dead"), (500, "removing")])
def test_a_container_on_its_way_out_counts_as_gone(code: int, status: str) -> None:
    with pytest.raises(JobStopped):
        job_container.follow_lines(link_to(Vanishing(code=code, status=status)), NAME, ALONE, lambda line: None)


def test_an_engine_that_refuses_for_other_reasons_is_told_as_before() -> None:
    with pytest.raises(HvdockerError, match="the Docker engine refused: reading the job's output") as caught:
        job_container.follow_lines(link_to(Vanishing(code=500, status="running")), NAME, ALONE, lambda line: None)
    assert caught.value.exit_code == ExitCode.ERROR


def test_a_job_that_ended_without_a_record_is_not_taken_down(link: LogLink) -> None:
    link.logged.exit_code = 1
    assert job_container.read_job_end(link, NAME) == JobEnd(None, 1)


def test_a_log_whose_beginning_the_engine_dropped_says_so_in_its_first_line(tmp_path: Path) -> None:
    engine = LogEngine(log=[(0, b"[0]<stdout>:line 8\n"), (1, b"[0]<stdout>:line 9\n")])
    record = {"job": "train-abcd", "state": "succeeded", "started": 1, "finished": 2, "output_lines": 10}
    engine.files["/run/hvdocker/record.json"] = json.dumps(record).encode()
    here = Located(inventory("hosts: [a]"), tmp_path / "inventory.yaml")
    log = here.jobs / "train-abcd" / "logs" / "output.log"
    saved = save_log(here, "train-abcd", link_to(engine), NAME)
    assert saved.missing.startswith("the first 8 lines of the output are missing")
    assert log.read_text().splitlines() == [
        f"hvdocker: {saved.missing}",
        "[0]<stdout>:line 8",
        "[0]<stdout>:line 9",
    ]
    assert [path.name for path in log.parent.iterdir()] == ["output.log"]
    engine.files["/run/hvdocker/record.json"] = json.dumps({**record, "output_lines": 2}).encode()
    assert save_log(here, "train-abcd", link_to(engine), NAME).missing == ""
    assert log.read_text() == "[0]<stdout>:line 8\n[0]<stdout>:line 9\n"


@pytest.mark.parametrize("follows", [True, False])
def test_logs_say_that_the_beginning_is_gone_if_all_of_it_was_asked_for(follows: bool) -> None:
    engine = LogEngine(log=[(0, b"[0]<stdout>:line 8\n"), (1, b"[0]<stdout>:line 9\n")])
    record = {"job": "train-abcd", "state": "succeeded", "started": 1, "finished": 2, "output_lines": 10}
    engine.files["/run/hvdocker/record.json"] = json.dumps(record).encode()
    link = link_to(engine)
    state = state_of(host_seen("a", containers=(master("train-abcd", '{"a": 1}', "exited"),)))
    found = FoundJob("train-abcd", JobsSeen(state, {"a": link}), state.hosts["a"].containers[0])
    lines: list[Line] = []
    gone = _from_container(found, LogsRequest(follows=follows), lines.append, None)  # type: ignore[arg-type]  # no link breaks
    assert gone.startswith("the first 8 lines of the output are missing") and len(lines) == 2
    assert _from_container(found, LogsRequest(follows=follows, tail=1), lines.append, None) == ""  # type: ignore[arg-type]


def test_a_link_that_breaks_after_the_last_line_is_an_error_in_words() -> None:
    class Cut(LogEngine):
        def get_archive(self, container: str, path: str) -> Any:
            raise ConnectionError("broken")

    with pytest.raises(HostUnreachable, match="the connection was lost: reading the job's record"):
        missing_beginning(link_to(Cut()), NAME, 2)
