"""job.json, as a container reads it."""

import json
from typing import Any

import pytest

from hvdocker.protocol.job_file import Job, JobError, JobHost, JobLauncher, parse_job

DATA: dict[str, Any] = {  # Any: JSON
    "format": 2,
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
    "launcher": {"name": "horovod", "options": {"words": ["horovodrun", "-np", "2"]}},
    "master_port": 29501,
    "grace_s": 4,
}


def parse(data: dict[str, Any]) -> Job:  # Any: JSON
    return parse_job(json.dumps(data))


def test_a_job_knows_its_own_host_and_the_head() -> None:
    job = parse(DATA)
    assert (job.address, job.head_address, job.other_hosts) == ("198.18.0.3", "198.18.0.2", ("a",))
    assert job == Job(
        name="mnist-a2b3",
        cluster="lab",
        host="b",
        command=("python", "/train/train.py", "--name", "two words"),
        workdir="/train",
        env={"SEED": "7"},
        launcher=JobLauncher("horovod", {"words": ["horovodrun", "-np", "2"]}),
        np=2,
        port=12345,
        master_port=29501,
        grace_s=4.0,
        hosts=(JobHost("a", "198.18.0.2", 1), JobHost("b", "198.18.0.3", 1)),
    )


def test_of_secrets_a_job_knows_the_names() -> None:
    assert parse({**DATA, "secrets": ["TOKEN", "KEY"]}).secrets == ("TOKEN", "KEY")


@pytest.mark.parametrize("key", ["job", "cluster", "host", "hosts", "command", "workdir", "launcher"])
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(JobError, match=key):
        parse({name: value for name, value in DATA.items() if name != key})


def test_a_host_that_is_not_placed_is_named() -> None:
    with pytest.raises(JobError, match="'c'"):
        parse({**DATA, "host": "c"})


@pytest.mark.parametrize("found", [1, 3, None])
def test_another_format_is_named(found: int | None) -> None:
    other = {name: value for name, value in DATA.items() if name != "format"}
    advice = "build the image again" if found == 3 else "start the job again"
    with pytest.raises(JobError, match=f"has format {found or 1}, this image reads format 2: {advice}"):
        parse(other if found is None else {**other, "format": found})


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_what_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(JobError):
        parse_job(text)
