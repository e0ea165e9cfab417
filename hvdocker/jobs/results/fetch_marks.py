"""Reads and writes fetched.json in the folder of a job on the controller. It says into which folder the job was
fetched, from which hosts since the job ended, and which files of their code folders were fetched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.inventory.locate import Located
from hvdocker.jobs.local_jobs import FETCHED_FILE, fetched_to
from hvdocker.observe.state import ClusterState

if TYPE_CHECKING:
    from hvdocker.jobs.results.code_files import HostCode
    from hvdocker.jobs.results.merge import FetchedFiles


@dataclass(frozen=True)
class FetchMark:
    """What was already fetched of a job, as fetched.json stores it. All files of the job on the hosts in `hosts` were
    fetched into `folder`. `code` has, by host, the digest (`HostCode.digest`) of the files that came from the code
    folder.

    Only hosts that were read after the job ended are marked, because a running job may write more files."""

    folder: Path
    hosts: frozenset[str] = frozenset()
    code: Mapping[str, str] = field(default_factory=dict)

    def with_fetched(self, fetched: FetchedFiles | None) -> FetchMark:
        """Return a mark that also has the hosts and code digests of `fetched`, another fetch into the same folder.
        Return this mark unchanged if `fetched` is None."""
        if fetched is None:
            return self
        return replace(self, hosts=self.hosts | set(fetched.hosts), code={**self.code, **fetched.code})


def marked_into(located: Located, job: str, folder: Path) -> FetchMark:
    """Return the mark of earlier fetches of the job into `folder`. Return an empty mark if there is none, if the last
    fetch was into another folder, or if `folder` was deleted.

    Call this before the next fetch into `folder`: the fetch creates a deleted folder again, and the files of earlier
    fetches would seem to be still there."""
    mark = _read_mark(located, job)
    return mark if mark and fetched_to(located, job) == folder else FetchMark(folder)


def mark_fetched(located: Located, job: str, mark: FetchMark) -> None:
    path = located.jobs / job / FETCHED_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"job": job, "folder": str(mark.folder), "hosts": sorted(mark.hosts), "code": dict(mark.code)}
    path.write_text(json.dumps(told) + "\n", encoding="utf-8")


def clear_fetched_hosts(located: Located, job: str) -> None:
    """Remove all hosts and their code digests from the job's fetched.json, because the job is restarted and will write
    more files. Do nothing if there is no such file."""
    if (located.jobs / job / FETCHED_FILE).exists():
        mark_fetched(located, job, FetchMark(fetched_to(located, job) or located.jobs / job))


def unfetched_jobs(located: Located, state: ClusterState) -> tuple[str, ...]:
    """Return the ids of the jobs that have files on a host from which nothing was fetched after the job ended. `down`
    fetches these jobs before it removes the cluster."""
    hosts: dict[str, set[str]] = {}
    for name, seen in state.hosts.items():
        for job in filter(names.is_safe_file_name, seen.job_folders):
            hosts.setdefault(job, set()).add(name)
    marks = {job: _read_mark(located, job) for job in hosts}
    return tuple(job for job, there in hosts.items() if not there <= (mark.hosts if (mark := marks[job]) else set()))


def unfetched_code(located: Located, code: Mapping[str, HostCode]) -> tuple[str, ...]:
    """Return the ids of the jobs with files in the code folder of a host that were not fetched, or have changed since
    they were fetched. NO_JOB is among the ids if there are files that belong to no job, even if those were fetched.
    `code` has the files that jobs left, by host. `down` fetches these files before it removes the cluster."""
    found: dict[str, None] = {}
    for host, left in code.items():
        for job in left.files:
            mark = _read_mark(located, job) if job else None
            if mark is None or mark.code.get(host) != left.digest(job):
                found[job] = None
    return tuple(found)


def _read_mark(located: Located, job: str) -> FetchMark | None:
    """Return what the job's fetched.json says. Return None if there is no such file, if it is damaged, or if the folder
    that it names no longer exists."""
    try:
        told = json.loads((located.jobs / job / FETCHED_FILE).read_text(encoding="utf-8"))
        mark = FetchMark(Path(told["folder"]), frozenset(told["hosts"]), dict(told.get("code", {})))
        return mark if mark.folder.is_dir() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
