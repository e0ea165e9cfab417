"""What a job's files tell of it, whatever became of them."""

import json

import pytest

from hvdocker.jobs.history import JobTexts, PastJob, read_past_job, script_in_command, script_stem
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import JobRecord
from hvdocker.protocol.resilience import Elastic

RECORD = {
    "job": "train-abcd", "cluster": "lab", "state": "failed", "code": 1, "started": 100.0, "finished": 160.0,
    "ranks": [], "first_failure": {"rank": 1, "host": "b", "code": 3}, "restarts": 2,
}  # fmt: skip
SPEC = {
    "job": "train-abcd", "cluster": "lab", "np": 3, "command": ["python3", "-u", "train.py", "--lr", "1"],
    "hosts": [{"name": "a", "address": "x", "slots": 1}, {"name": "b", "address": "y", "slots": 2}],
    "endurance": {"elastic": {"min_np": 2, "max_np": None}},
}  # fmt: skip
MASTER = {
    "labels": {
        "hvdocker.cluster": "lab", "hvdocker.owner": "ada", "hvdocker.script": "src/train.py",
        "hvdocker.placement": '{"a":1,"b":1}', "hvdocker.elastic": "1:4",
    },
    "created": 98.0, "started": 99.0, "finished": 161.0, "exit_code": 1,
}  # fmt: skip
PLACEMENT = Placement((Share("a", 1), Share("b", 2)))


def job_texts(master: object = None, job: object = None, record: object = None, capsule: object = None) -> JobTexts:
    given = (master, job, record, capsule)
    return JobTexts(*(json.dumps(value) if value is not None else "" for value in given))


def test_all_job_files() -> None:
    first = RankEnd(1, "b", 3)
    past = read_past_job("train-abcd", job_texts(MASTER, SPEC, RECORD, {"owner": "bob"}))
    assert past.record is not None and past.record.first_failure == first
    assert past == PastJob(
        "train-abcd", "lab", "ada", "src/train.py", "failed", 1, Placement((Share("a", 1), Share("b", 1))),
        Elastic(1, 4), 100.0, 60.0, 2, past.record,
    )  # fmt: skip


def test_without_what_the_container_said() -> None:
    past = read_past_job("train-abcd", job_texts(job=SPEC, record=RECORD, capsule={"owner": "bob"}))
    assert past == PastJob(
        "train-abcd", "lab", "bob", "train.py", "failed", 1, PLACEMENT, Elastic(2), 100.0, 60.0, 2,
        JobRecord.read(json.dumps(RECORD)),
    )  # fmt: skip


def test_only_what_the_container_said() -> None:
    past = read_past_job("train-abcd", job_texts(MASTER))
    assert (past.state, past.exit_code, past.started, past.seconds) == ("failed", 1, 99.0, 62.0)


@pytest.mark.parametrize(
    ("code", "state"), [(0, "succeeded"), (1, "failed"), (143, "stopped"), (137, "ended"), (None, "unknown")]
)
def test_an_exit_code_tells_how_it_ended(code: int | None, state: str) -> None:
    past = read_past_job(
        "j-abcd", job_texts({**MASTER, "exit_code": code}, record={"state": "running", "started": 5.0})
    )
    assert (past.state, past.exit_code) == (state, code)


def test_a_job_that_was_running_when_it_was_last_seen_may_have_ended() -> None:
    past = read_past_job(
        "j-abcd", job_texts({"labels": {}, "exit_code": None, "started": 9.0}, record={"state": "running"})
    )
    assert past == PastJob("j-abcd", started=9.0, record=past.record)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7", '"x"', "[" * 100_000, '{"labels": 7, "hosts": 7}'])
def test_damaged_job_files_tell_nothing(text: str) -> None:
    assert read_past_job("j-abcd", JobTexts(text, text, text, text)) == PastJob("j-abcd")


@pytest.mark.parametrize(
    "odd",
    [
        {"state": ["failed"], "code": "1", "started": "soon", "finished": True, "restarts": -4, "cluster": 7},
        {"state": "failed!", "started": 1e300, "finished": -1, "code": 1.5},
    ],
)
def test_fields_of_another_kind_tell_nothing(odd: object) -> None:
    spec = {
        "hosts": [7, {"name": 5, "slots": "x"}],
        "command": "train.py",
        "endurance": {"elastic": {"min_np": "2"}},
    }
    past = read_past_job("j-abcd", job_texts(job=spec, record=odd))
    assert past == PastJob("j-abcd")


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (["python3", "-u", "train.py", "--lr"], "train.py"),
        (["/usr/bin/python", "-m", "pkg.mod", "x"], "pkg.mod"),
        (["python", "train.py", "-m", "x"], "train.py"),
        (["bash", "-c", "x"], "bash"),
        (["python3"], "python3"),
        ([], ""),
        ([7], ""),
        (None, ""),
    ],
)
def test_what_was_run(command: object, script: str) -> None:
    assert script_in_command(command) == script


def test_the_stem_of_an_id() -> None:
    assert [script_stem(job) for job in ("my-train-abcd", "train", "-abcd")] == ["my-train", "train", "-abcd"]


def test_of_a_job_that_was_started_and_never_fetched_the_capsule_tells() -> None:
    capsule = {
        "cluster": "lab", "owner": "ada", "script": "train.py", "started": 90.0,
        "placement": [{"host": "a", "slots": 1}, {"host": "b", "slots": 2}],
    }  # fmt: skip
    past = read_past_job("train-abcd", JobTexts(capsule=json.dumps(capsule)))
    assert (past.cluster, past.owner, past.started) == ("lab", "ada", 90.0)
    assert past.placement == Placement((Share("a", 1), Share("b", 2)))
