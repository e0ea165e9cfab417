"""job.json, read inside a container."""

import json
from pathlib import Path
from typing import Any

import pytest
from inside.runtime.read_job import read_job

from hvdocker.protocol.job_file import Job, JobError, JobHost, parse_job

DATA: dict[str, Any] = {  # Any: JSON
    "job": "mnist-a2b3",
    "cluster": "lab",
    "np": 2,
    "port": 12345,
    "host": "b",
    "hosts": [
        {"name": "a", "address": "198.18.0.2", "slots": 1},
        {"name": "b", "address": "198.18.0.3", "slots": 1},
    ],
    "command": ["python", "/train/train.py", "--name", "two words"],
    "workdir": "/train",
    "env": {"SEED": 7},
    "launcher": ["horovodrun", "-np", "2"],
    "grace_s": 4,
}


def test_a_job_knows_its_own_host_and_the_head() -> None:
    assert parse_job(DATA) == Job(
        name="mnist-a2b3",
        cluster="lab",
        host="b",
        address="198.18.0.3",
        head_address="198.18.0.2",
        command=("python", "/train/train.py", "--name", "two words"),
        workdir="/train",
        env={"SEED": "7"},
        launcher=("horovodrun", "-np", "2"),
        grace_s=4.0,
        host_count=2,
        other_hosts=("a",),
        hosts=(JobHost("a", "198.18.0.2", 1), JobHost("b", "198.18.0.3", 1)),
    )


def test_of_secrets_a_job_knows_the_names() -> None:
    assert parse_job({**DATA, "secrets": ["TOKEN", "KEY"]}).secrets == ("TOKEN", "KEY")


@pytest.mark.parametrize("key", ["job", "cluster", "host", "hosts", "command", "workdir", "launcher"])
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(JobError, match=key):
        parse_job({name: value for name, value in DATA.items() if name != key})


def test_a_host_that_is_not_placed_is_named() -> None:
    with pytest.raises(JobError, match="'c'"):
        parse_job({**DATA, "host": "c"})


def test_a_job_is_read_from_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / "mnist-a2b3"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(DATA))
    assert read_job("mnist-a2b3", tmp_path) == parse_job(DATA)


def test_a_missing_job_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"jobs/none/job\.json"):
        read_job("none", tmp_path)
