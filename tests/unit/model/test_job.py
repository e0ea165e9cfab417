import json
from dataclasses import replace

import pytest

from hvdocker.model.job import JobRecord, JobSpec, RankEnd
from hvdocker.model.placement import Placement, Share

SPEC = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("b", 1), Share("a", 2))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=("python", "/train/train.py", "--name", "두 단어"),
    launcher=("horovodrun", "-np", "3"),
    workdir="/train",
    env={"NCCL_DEBUG": "WARN"},
    code_hash="c0de",
)


def test_job_json_as_a_whole() -> None:
    assert json.loads(SPEC.for_host("a")) == {
        "job": "train-abcd",
        "cluster": "lab",
        "np": 3,
        "port": 12345,
        "host": "a",
        "hosts": [
            {"name": "b", "address": "10.0.0.12", "slots": 1},
            {"name": "a", "address": "10.0.0.11", "slots": 2},
        ],
        "command": ["python", "/train/train.py", "--name", "두 단어"],
        "workdir": "/train",
        "env": {"NCCL_DEBUG": "WARN"},
        "launcher": ["horovodrun", "-np", "3"],
        "grace_s": 10,
        "code_hash": "c0de",
        "endurance": {
            "restarts": 0,
            "first_restart": 0,
            "elastic": None,
            "hang_after_s": 600.0,
            "on_hang": "wait",
            "rules": [],
        },
    }


def test_a_host_is_told_the_devices_of_its_ranks() -> None:
    placed = Placement((Share("b", 1), Share("a", 2, ("GPU-3", "GPU-1"))))
    spec = replace(SPEC, placement=placed)
    assert json.loads(spec.for_host("a"))["devices"] == ["GPU-3", "GPU-1"]
    assert "devices" not in json.loads(spec.for_host("b"))


def test_hosts_get_the_same_file_but_for_their_name() -> None:
    here, there = json.loads(SPEC.for_host("a")), json.loads(SPEC.for_host("b"))
    assert here.pop("host") == "a" and there.pop("host") == "b"
    assert here == there


def test_a_record_as_the_supervisor_writes_it() -> None:
    text = json.dumps({
        "job": "train-abcd", "state": "failed", "code": 1, "started": 100, "finished": 107.5,
        "ranks": [
            {"rank": 0, "host": "b", "code": 0, "signal": None, "seconds": 7.0, "max_rss_kb": 2048},
            {"rank": 1, "host": "a", "code": None, "signal": 9},
        ],
        "first_failure": {"rank": 1, "host": "a", "code": None, "signal": 9},
        "added by a later version": True,
    })  # fmt: skip
    record = JobRecord.read(text)
    assert record == JobRecord(
        job="train-abcd",
        state="failed",
        code=1,
        started=100.0,
        finished=107.5,
        ranks=(RankEnd(0, "b", 0, None, 7.0, 2048), RankEnd(1, "a", None, 9)),
        first_failure=RankEnd(1, "a", None, 9),
    )
    assert record.seconds == 7.5


def test_a_clock_that_went_backwards_gives_no_negative_time() -> None:
    assert JobRecord("j", "succeeded", 0, started=10.0, finished=9.0).seconds == 0.0


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"job": "j"}', '{"job":"j","state":"s","started":"x","finished":1}',
     '{"job":"j","state":"s","started":1,"finished":2,"ranks":[7]}',
     '{"job":"j","state":"s","started":1,"finished":2,"ranks":[{"rank":null}]}'],
)  # fmt: skip
def test_a_damaged_record_is_none(text: str) -> None:
    assert JobRecord.read(text) is None
