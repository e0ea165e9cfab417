"""Reads job.json, the file with which the controller describes a job to this container."""

from pathlib import Path

from hvdocker.protocol import paths
from hvdocker.protocol.job_file import Job, JobError, parse_job


def read_job(name: str, run: Path = paths.RUN) -> Job:
    """Read job.json of the job `name` from /run/hvdocker/jobs/NAME, where the controller put it. `run` is the folder
    /run/hvdocker. Raises JobError if the file cannot be read, has another format or lacks a key."""
    path = paths.job_folder(name, run) / "job.json"
    try:
        return parse_job(path.read_text(encoding="utf-8"))
    except JobError:
        raise
    except (OSError, ValueError) as error:
        raise JobError(f"cannot read {path}: {error}") from error
