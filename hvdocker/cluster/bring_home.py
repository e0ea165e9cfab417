"""Fetches to the controller what jobs wrote on the hosts, before `down`, `run` or `gc` removes a cluster.

Jobs write outputs, logs, and files in the code folders of the hosts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import HvdockerError
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.fetch import fetch_code_without_job, fetch_job_files, find_code
from hvdocker.jobs.results.fetch_marks import mark_fetched, marked_into, unfetched_code
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session
from hvdocker.units import GIB, show_bytes

if TYPE_CHECKING:
    from hvdocker.jobs.results.code_files import HostCode
    from hvdocker.jobs.results.merge import FetchedFiles

# A removal brings at most this much home from the code folders. More may be data that a script downloaded there,
# which nobody wants to wait for: the user has to decide.
MOST_CODE_BYTES = 5 * GIB


@dataclass
class HomeFetch:
    """Fetches the files of a cluster's jobs into .hvdocker/jobs/. Files in the code folders of the hosts that belong to
    no job go into .hvdocker/no-job/.

    `located` has the inventory and the .hvdocker folder, `session` the links to the hosts. `state` is the observed
    cluster. `fetched` collects the results by job. Its key for files that belong to no job is empty text."""

    env: Env
    located: Located
    session: Session
    state: ClusterState
    fetched: dict[str, FetchedFiles]

    def fetch(self, job: str) -> None:
        """Fetch the outputs, the logs and the files in the code folders of the job with this name.

        If the unfetched files in all code folders together are larger than MOST_CODE_BYTES, the files in the code
        folders are left out; `fetch_code_left` then raises HvdockerError. If a file of the job cannot be read, the
        other files are fetched, and then HvdockerError is raised."""
        self.env.listener(Event("fetch", f"bringing home {job}"))
        self._fetch(job, {} if self._excess_bytes else self._code)

    def fetch_code_left(self) -> None:
        """Fetch the files in the code folders that `fetch` did not fetch.

        The folders are listed and fetched up to three times, until a listing shows no file that is new or has changed.
        This also fetches a file that a process was still writing during an earlier fetch. Raises HvdockerError if the
        files that were unfetched at the start are larger than MOST_CODE_BYTES, if a file could not be read, or if files
        still change after the third fetch."""
        if self._excess_bytes:
            raise self._too_large()
        for _ in range(3):
            left = find_code(self.session.links, self.state)
            jobs = self._unfetched_jobs(left)
            if not jobs:
                return
            for job in jobs:
                self._fetch(job, left)
        jobs = self._unfetched_jobs(find_code(self.session.links, self.state))
        if not jobs:
            return
        raise HvdockerError(
            "files in the code folder change all the time",
            lines=[job or "files of no job" for job in jobs],
            fix="end what writes there (hvdocker exec)",
        )

    @cached_property
    def _code(self) -> dict[str, HostCode]:
        return find_code(self.session.links, self.state)

    @cached_property
    def _excess_bytes(self) -> int:
        """The total size of the unfetched files in the code folders if it is more than MOST_CODE_BYTES, else 0."""
        jobs = unfetched_code(self.located, self._code)
        size = sum(file.size_bytes for left in self._code.values() for job in jobs for file in left.of(job))
        return size if size > MOST_CODE_BYTES else 0

    @cached_property
    def _folder_without_job(self) -> Path:
        """The folder on the controller for fetched files that belong to no job.

        Its name contains the time, because a later cluster may have the same name and files of the same names."""
        time = datetime.fromtimestamp(self.env.now(), timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        return self.located.state / "no-job" / f"{self.located.inventory.cluster}-{time}"

    def _fetch(self, job: str, code: Mapping[str, HostCode]) -> None:
        located = self.located
        if job:
            folder = located.jobs / job
            before = marked_into(located, job, folder)
            fetched = fetch_job_files(located, self.session, self.state, job, folder, code)
            mark_fetched(located, job, before.with_fetched(fetched))
        else:
            cluster = located.inventory.cluster
            fetched = fetch_code_without_job(self.session, self.state, cluster, self._folder_without_job, code)
        if job in self.fetched:
            fetched.code_files += self.fetched[job].code_files
        self.fetched[job] = fetched
        if error := fetched.incomplete_error:
            raise error

    def _unfetched_jobs(self, left: Mapping[str, HostCode]) -> list[str]:
        """Return the ids of the jobs with files in the code folders that were not fetched, or have changed since the
        fetch.

        Empty text in the list stands for files of no job. `left` has the content of the code folders, by host."""
        return [job for job in unfetched_code(self.located, left) if not self._is_fetched(job, left)]

    def _is_fetched(self, job: str, left: Mapping[str, HostCode]) -> bool:
        """Whether this object has already fetched exactly the files that the job has in the code folders now.

        `left` has the content of the code folders, by host. `job` is empty for files that belong to no job."""
        came = self.fetched[job].code if job in self.fetched else {}
        return all(came.get(host) == found.digest(job) for host, found in left.items() if found.of(job))

    def _too_large(self) -> HvdockerError:
        """Return the error for files in the code folders that together are larger than MOST_CODE_BYTES.

        Its fix suggests `hvdocker fetch` for files of jobs. That verb does not fetch files that belong to no job, so
        for these the fix has a command with which the user can copy them."""
        from hvdocker.jobs.results.code_files import NO_JOB

        jobs = unfetched_code(self.located, self._code)
        fixes = [f"hvdocker fetch {job}{self.located.flag}" for job in jobs if job]
        if NO_JOB in jobs:
            fixes += [f"copy it yourself: {self._copy(host)}" for host, left in self._code.items() if left.of(NO_JOB)]
            fixes.append(f"then hvdocker down --discard{self.located.flag}")
        return HvdockerError(
            f"{show_bytes(self._excess_bytes)} lie in the code folder, where jobs saved them, and are not home",
            lines=[f"more than {show_bytes(MOST_CODE_BYTES)} come only if you say so"],
            fix=f"bring it home first: {'; '.join(fixes)}",
        )

    def _copy(self, host: str) -> str:
        """Return the scp command, for the user, that copies the code folder of this host to the current folder."""
        address = next((known.host for known in self.located.inventory.hosts if known.name == host), host)
        source = f"{address}:{self.state.hosts[host].cluster_dir}/code"
        return f"scp -r {shlex.quote(source)} {shlex.quote(f'code-{host}')}"
