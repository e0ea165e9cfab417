"""Read and write the files about jobs on the controller, which verbs like `train`, `fetch` and `down` keep in
.hvdocker/jobs/."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hvdocker import names
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import CAPSULE_FILE, JOB_FILE, RECORD_FILE
from hvdocker.jobs.history import JobTexts, PastJob, read_past_job

FETCHED_FILE = "fetched.json"
MASTER_FILE = "master.json"
# The copy of the record if outputs and logs were fetched into another folder.
RECORD_COPY = "record.json"
MAX_FILE_BYTES = 4 << 20


@dataclass(frozen=True)
class LocalJob:
    """A job with files on the controller. `past` is the content of the files that describe it. `folder` has its outputs
    and logs: .hvdocker/jobs/<job>, or another folder into which the user fetched them with `fetch`."""

    past: PastJob
    folder: Path

    @property
    def output(self) -> Path | None:
        """The file with a copy of the output of the whole job, which may be incomplete; None if there is no such
        file."""
        path = self.folder / "logs" / "output.log"
        return path if path.is_file() else None

    def rank_logs(self) -> dict[int, Path]:
        """Return the fetched log files of single ranks, by rank."""
        found = {}
        for path in sorted((self.folder / "logs").glob("rank-*.log")):
            rank = path.name.removeprefix("rank-").removesuffix(".log")
            if rank.isascii() and rank.isdigit() and path.is_file():
                found[int(rank)] = path
        return found


def local_jobs(located: Located) -> dict[str, LocalJob]:
    """Return all jobs that have files on the controller, by id, newest first. Jobs with an unknown start time come
    last."""
    found = [local_job(located, job) for job in _folders(located.jobs)]
    found.sort(key=lambda home: (-(home.past.started or 0.0), home.past.job))
    return {home.past.job: home for home in found}


def local_job(located: Located, job: str) -> LocalJob:
    """Return what the files on the controller say about a job. Missing or damaged files leave fields of `past` empty;
    there is no error, even if the job has no files."""
    own = located.jobs / job
    folder = fetched_to(located, job) or own
    texts = JobTexts(
        master=_read_bounded(own / MASTER_FILE),
        job=_read_bounded(own / JOB_FILE),
        record=_read_bounded(folder / RECORD_FILE) or _read_bounded(own / RECORD_COPY),
        capsule=_read_bounded(own / CAPSULE_FILE),
    )
    return LocalJob(read_past_job(job, texts), folder)


def fetched_to(located: Located, job: str) -> Path | None:
    """Return the folder that the job was last fetched into, as fetched.json says. None if there is no such file,
    or the folder is gone. A fetch of a running job is not recorded in fetched.json."""
    try:
        folder = Path(json.loads(_read_bounded(located.jobs / job / FETCHED_FILE))["folder"])
        return folder if folder.is_dir() else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_master_file(located: Located, job: str, inspected: Mapping[str, object]) -> None:
    """Write `inspected` to the job's master.json on the controller. `inspected` is the result of `master_facts`: labels
    of the master (owner, script, placement and others), times and exit code.

    With this file `jobs` can list the job even if all its other files are missing or damaged."""
    path = located.jobs / job / MASTER_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(inspected, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def _folders(jobs: Path) -> list[str]:
    try:
        return [path.name for path in jobs.iterdir() if names.is_safe_file_name(path.name) and path.is_dir()]
    except OSError:
        return []


def _read_bounded(path: Path) -> str:
    """Return the file's text; empty if it cannot be read or is larger than MAX_FILE_BYTES."""
    with suppress(OSError), path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
        return data.decode("utf-8", "replace") if len(data) <= MAX_FILE_BYTES else ""
    return ""
