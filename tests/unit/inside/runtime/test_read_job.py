"""job.json, read inside a container."""

from pathlib import Path

import pytest
from inside.runtime.read_job import read_job

from hvdocker.protocol.job_file import Job, JobError, JobHost, JobLauncher

JOB = Job("mnist-a2b3", "lab", "a", (JobHost("a", "198.18.0.2", 1),), ("true",), "/train", JobLauncher("horovod"), np=1)


def test_a_job_is_read_from_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / "mnist-a2b3"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(JOB.text())
    assert read_job("mnist-a2b3", tmp_path) == JOB


def test_a_missing_job_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"jobs/none/job\.json"):
        read_job("none", tmp_path)
