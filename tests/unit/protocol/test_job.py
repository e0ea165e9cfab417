import json
import os
from dataclasses import replace

import pytest

from hvdocker.jobs.job_spec import JobSpec
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import Attempt, DroppedHost, Hang, JobRecord, RuleMatch

SPEC = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("b", 1), Share("a", 2))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=("python", "/train/train.py", "--name", "두 단어"),
    launcher=JobLauncher("horovod", {"words": ["horovodrun", "-np", "3"]}),
    master_port=29501,
    workdir="/train",
    env={"NCCL_DEBUG": "WARN"},
    code_hash="c0de",
)


def test_job_json_as_a_whole() -> None:
    assert json.loads(SPEC.for_host("a")) == {
        "format": 2,
        "job": "train-abcd",
        "cluster": "lab",
        "np": 3,
        "port": 12345,
        "master_port": 29501,
        "host": "a",
        "hosts": [
            {"name": "b", "address": "10.0.0.12", "slots": 1},
            {"name": "a", "address": "10.0.0.11", "slots": 2},
        ],
        "command": ["python", "/train/train.py", "--name", "두 단어"],
        "workdir": "/train",
        "env": {"NCCL_DEBUG": "WARN"},
        "launcher": {"name": "horovod", "options": {"words": ["horovodrun", "-np", "3"]}, "reason": ""},
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


def test_bytes_that_are_not_utf_8_arrive_in_the_rank_unchanged() -> None:
    """An argument, a variable, the name of the script: Python has such a byte as a surrogate."""
    odd = os.fsdecode(b"caf\xe9 \xff \xed\x95\x9c")
    text = replace(SPEC, command=("python", odd), env={"ODD": odd}, workdir=f"/train/{odd}").for_host("a")
    # As the controller writes it, and as the container reads it.
    told = json.loads(text.encode("utf-8").decode("utf-8"))
    assert {told["command"][1], told["env"]["ODD"]} == {odd}
    assert os.fsencode(told["workdir"]) == b"/train/caf\xe9 \xff \xed\x95\x9c"


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


def test_a_record_of_a_job_that_was_run_again() -> None:
    failed = {"rank": 1, "host": "a", "code": 137, "signal": 9, "oom": True, "interface": "eth0"}
    text = json.dumps({
        "job": "train-abcd", "state": "failed", "code": 1, "started": 100, "finished": None,
        "restarts": 1,
        "attempts": [
            {"number": 0, "started": 100, "finished": 101, "np": 2, "hosts": ["b", "a"], "launcher_code": 1,
             "first_failure": failed, "lost_hosts": ["a"]},
            {"number": 1},
        ],
        "lost_hosts": ["a"],
        "dropped": [{"host": "a", "pattern": "ECC", "line": "an ECC error", "rank": 1}],
        "struck": [{"host": "c", "times": 3, "how": "exit code 3", "then": "drop"}],
        "stopped_by_rule": {"pattern": "OOM", "line": "OOM when allocating", "rank": 0, "host": "b"},
        "hang": {"after_s": 60, "odd": {"rank": 1, "host": "a"}, "why": "it sleeps", "bundle": "hang-1",
                 "then": "kill"},
        "versions": {"python": "3.11.2"},
    })  # fmt: skip
    first = RankEnd(1, "a", 137, 9, was_oom_killed=True, interface="eth0")
    assert JobRecord.read(text) == JobRecord(
        job="train-abcd",
        state="failed",
        code=1,
        started=100.0,
        finished=0.0,
        restarts=1,
        attempts=(Attempt(0, 100, 101, 2, ("b", "a"), 1, first, ("a",)), Attempt(1)),
        lost_hosts=("a",),
        dropped_by_rule=(RuleMatch("ECC", "an ECC error", 1, "a"),),
        dropped_hosts=(DroppedHost("c", 3, "exit code 3", "drop"),),
        stopped_by_rule=RuleMatch("OOM", "OOM when allocating", 0, "b"),
        hang=Hang(60, 1, "a", "it sleeps", "hang-1", "kill"),
        versions={"python": "3.11.2"},
    )


def test_what_is_odd_in_a_record_is_left_out() -> None:
    text = json.dumps({
        "job": "j", "state": "failed", "started": 1, "finished": 2, "restarts": "x", "attempts": [7, {}],
        "lost_hosts": "a", "dropped": {}, "stopped_by_rule": 7, "hang": {"odd": "b"}, "versions": [],
        "first_failure": {"rank": 0, "host": None, "code": "seven", "signal": True, "oom": "no"},
    })  # fmt: skip
    assert JobRecord.read(text) == JobRecord(
        "j", "failed", None, 1.0, 2.0, first_failure=RankEnd(0, "?", None), attempts=(Attempt(0),),
        hang=Hang(0.0),
    )  # fmt: skip


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
