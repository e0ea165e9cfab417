from dataclasses import replace
from typing import Any

from hvdocker.jobs.capsule.capsule import CodeUsed, GitSeen, ImageUsed
from hvdocker.jobs.capsule.difference import (
    Change,
    ComparedJob,
    FileChange,
    Outcome,
    RankOutcome,
    compare_jobs,
    read_record,
)
from hvdocker.jobs.capsule.patch import split_by_file
from hvdocker.protocol.placement import Placement, Share
from hvdocker.secret import SecretSource
from tests.unit.builders import CAPSULE
from tests.unit.jobs.capsule.test_patch import BINARY, TEXT

RECORD = {
    "state": "failed",
    "code": 1,
    "started": 10.0,
    "finished": 14.5,
    "restarts": 2,
    "ranks": [{"rank": 0, "host": "a", "code": 7, "seconds": 3.5, "max_rss_kb": 100}, "nonsense"],
    "versions": {"python": "3.11.2", "tensorflow": "2.18.1"},
}


def changes(**changed: Any) -> list[Change]:  # Any: fields of Capsule
    return list(compare_jobs(ComparedJob(CAPSULE), ComparedJob(replace(CAPSULE, **changed))).changes)


def test_equal_jobs_have_no_difference() -> None:
    """Who started them, when, from which folder and under which id makes none."""
    other = replace(CAPSULE, job="x", owner="kim", started=5.0, replay_of="",
                    code=replace(CAPSULE.code, folder="/elsewhere"))  # fmt: skip
    found = compare_jobs(ComparedJob(CAPSULE, TEXT), ComparedJob(other, TEXT))
    assert (found.changes, found.files, found.is_empty) == ((), (), True)


def test_code() -> None:
    assert changes(code=CodeUsed("e" * 64, git=GitSeen("b" * 40, "main", why="no patch: too large"))) == [
        Change("code", "hash", "ffffffffffff", "eeeeeeeeeeee"),
        Change("code", "commit", "aaaaaaaaaaaa", "bbbbbbbbbbbb"),
        Change("code", "changes that were not kept", None, "no patch: too large"),
    ]


def test_ranks_of_a_pool() -> None:
    """Two sweeps of different size on the same slots."""
    assert changes(ranks=40) == [Change("placement", "ranks", str(CAPSULE.placement.np), "40")]


def test_files_that_were_changed_in_another_way() -> None:
    other = TEXT.replace(b"+new", b"+newer")
    found = compare_jobs(ComparedJob(CAPSULE, TEXT + BINARY), ComparedJob(CAPSULE, other))
    first, second = split_by_file(TEXT + BINARY), split_by_file(other)
    assert found.files == (
        FileChange("a b", first["a b"], None),
        FileChange("code/train.py", first["code/train.py"], second["code/train.py"]),
    )
    assert not found.is_empty


def test_image_and_requirements() -> None:
    requirements = {"source": "elsewhere", "lines": ["rich", "numpy<2"], "constraints": ["x==1"]}
    assert changes(image=ImageUsed("mine:7", "sha256:dddd"), requirements=requirements) == [
        Change("image", "image", "doc-hvd:cpu", "mine:7"),
        Change("image", "content", "cccc", "dddd"),
        Change("requirements", "numpy<2", None, "numpy<2"),
        Change("requirements", "-c x==1", None, "-c x==1"),
    ]
    assert changes(requirements=None) == [Change("requirements", "rich", "rich", None)]


def test_command_and_environment() -> None:
    found = changes(command=("python", "two words"), env={"MODE": "fast"}, secrets=(SecretSource("TOKEN", "/a/file"),))
    assert found == [
        Change("command", "command", "python /train/train.py --epochs 3", "python 'two words'"),
        Change("environment", "SEED", "7", None),
        Change("environment", "secret TOKEN", "the caller's variable", "/a/file"),
        Change("environment", "secret KEY", "/home/ada/key", None),
        Change("environment", "MODE", None, "fast"),
    ]


def test_placement_settings_and_resilience() -> None:
    placement = Placement((Share("a", 1), Share("b", 1, ("GPU-2",))))
    inventory = {**CAPSULE.inventory, "inventory": "/b.yaml", "hosts": [{"name": "a", "slots": 4}]}
    found = changes(placement=placement, inventory=inventory, resilience={"restarts": 0, "rules": []})
    assert found == [
        Change("placement", "ranks", "3", "2"),
        Change("placement", "hosts", "a:1, b:2", "a:1, b:1"),
        Change("placement", "devices of b", "GPU-1, GPU-2", "GPU-2"),
        Change("inventory", "hosts/a/slots", "1", "4"),
        Change("endurance", "restarts", "2", "0"),
    ]


def test_versions_are_those_of_the_record_too() -> None:
    found = compare_jobs(ComparedJob(CAPSULE, record=RECORD), ComparedJob(replace(CAPSULE, version="0.2.0")))
    assert found.changes == (
        Change("versions", "hvdocker", "0.1.0", "0.2.0"),
        Change("versions", "python", "3.11.2", None),
        Change("versions", "tensorflow", "2.18.1", None),
    )


def test_how_a_job_went() -> None:
    ended = Outcome("failed", 1, 4.5, 2, (RankOutcome(0, "a", 7, None, 3.5, 100),))
    assert ComparedJob(CAPSULE, record=RECORD).outcome == ended
    assert ComparedJob(CAPSULE, record={"state": "running", "started": 1.0}).outcome == Outcome(
        "running", None, None, 0
    )
    assert ComparedJob(CAPSULE).outcome is None
    assert ComparedJob(CAPSULE, record={"ranks": 7}).outcome is None


def test_a_record_that_is_none() -> None:
    assert [read_record(text) for text in (None, "", "{", "[]", '{"state": "x"}')] == [None] * 4 + [{"state": "x"}]
