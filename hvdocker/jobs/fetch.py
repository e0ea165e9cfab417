"""The verb `fetch`: copy outputs and logs of a job to the controller, from every host that had a rank. Also
maintains fetched.json on the controller, which says into which folder a job was fetched, and from which hosts
since the job ended. Takes no lock."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem, raise_all
from hvdocker.inventory.locate import Located, at_home
from hvdocker.jobs.capsule.store import fetch_capsule_files
from hvdocker.jobs.local_jobs import FETCHED_FILE, fetched_to
from hvdocker.jobs.log.save import LOG_FILE, save_master_state, write_log
from hvdocker.jobs.lookup import FoundJob, find_job, observe_jobs
from hvdocker.jobs.secrets.plan import CLEAN_EXIT_CODES
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.jobs.results.merge import FetchedFiles


@dataclass(frozen=True)
class FetchReport:
    """The result of `fetch`. `folder` is where the files are now. `is_running` says whether the job still ran, so
    that it may write more files. `missing` has an error for every host that may have files of the job and could
    not be read."""

    job: str
    folder: Path
    fetched: FetchedFiles
    is_running: bool
    missing: tuple[HvdockerError, ...] = ()

    def complain(self) -> None:
        """Raise if some hosts could not be read (`missing`). The files of the other hosts have been fetched."""
        raise_all("some hosts of the job could not be asked for its files", self.missing)


def fetch(env: Env, located: Located, wanted: str | None, target: Path | None) -> FetchReport:
    """Fetch the files of a job into `target`, or into .hvdocker/jobs/<job> if `target` is None.

    `wanted` is a job id or the beginning of one; None means the newest job. Raises if no reachable host has files
    of the job."""
    with connected(env, located, must_all=False) as session:
        observed = observe_jobs(located, session)
        found = find_job(env, located, observed, wanted)
        job, missing = found.job, missing_hosts(found)
        if not observed.hosts_with_files(job):
            raise_all("some hosts cannot be reached", missing)
            raise _no_files_left(found)
        folder = (env.cwd / at_home(target)).resolve() if target else located.jobs / job
        if folder.is_file():
            raise HvdockerError(f"{folder} is a file", fix="name a folder")
        before = hosts_fetched_into(located, job, folder)
        fetched = fetch_job_files(located, session, observed.state, job, folder)
        is_running = any(master.job == job for master in observed.state.running_jobs())
        if not is_running:
            came = set(fetched.hosts) if has_ended(found, missing) else set()
            mark_fetched(located, job, folder, before | came)
        return FetchReport(job, folder, fetched, is_running, missing)


def has_ended(found: FoundJob, missing: Sequence[HvdockerError]) -> bool:
    """Return whether a job that was not observed running has certainly ended.

    `missing` are the errors of hosts that could not be read. The job may have been restarted on one of them. So if
    there are any, the job has certainly ended only if its supervisor exited by itself and was not killed."""
    masters = [master for master in found.observed.state.masters() if master.job == found.job]
    return not missing or any(not one.is_living and one.exit_code in CLEAN_EXIT_CODES for one in masters)


def missing_hosts(found: FoundJob) -> tuple[HvdockerError, ...]:
    """Return the errors of unreachable hosts that may have files of the job.

    These are the unreachable hosts of its placement. If the job is elastic, or its master was not found, these are
    all unreachable hosts, because any of them may have had ranks."""
    away = found.observed.unreachable
    is_told = found.master is not None and names.LABEL_ELASTIC not in found.master.labels
    return tuple(error for name, error in away.items() if not is_told or name in found.placement.hosts)


def _no_files_left(found: FoundJob) -> UsageProblem:
    what = f"no host has anything of {found.job} any more"
    return UsageProblem(what, fix=f"it lies here: {found.local.folder}" if found.local else None)


def fetch_job_files(located: Located, session: Session, state: ClusterState, job: str, folder: Path) -> FetchedFiles:
    """Fetch what the observed hosts have of a job into `folder`: outputs, the logs of ranks and of the master.

    Capsule, job.json and the description of the master container (master.json) go to .hvdocker/jobs/<job>, even if
    `folder` is another folder."""
    from hvdocker.jobs.results.fetch_files import fetch_job
    from hvdocker.transport.errors import translating_errors

    hosts = [name for name, seen in state.hosts.items() if job in seen.job_folders]
    folders = [f"{state.hosts[host].cluster_dir}/jobs/{job}" for host in hosts]
    with translating_errors(", ".join(hosts), f"fetching {job}"):
        fetched = fetch_job(job, [session.links[host] for host in hosts], folders, folder)
    fetched.skipped += fetch_capsule_files(located, session, state, job, folder)
    for number, master in enumerate(master for master in state.masters() if master.job == job):
        # A job restarted on other hosts may have two masters: the newest (first) one describes the job.
        name = f"{LOG_FILE}.{number}" if number else LOG_FILE
        saved = write_log(session.links[state.host_of(master)], master.name, folder, name)
        if saved.missing:
            fetched.skipped.append(f"{job}/logs/{name}: {saved.missing}")
        if not number:
            save_master_state(located, job, saved.inspected)
    return fetched


def hosts_fetched_into(located: Located, job: str, folder: Path) -> set[str]:
    """Return the hosts whose files were fetched into `folder` after the job ended. Empty if `folder` was deleted.

    Call this before the next fetch into `folder`: the fetch creates a deleted folder again, and the files of
    earlier fetches would seem to be still there."""
    return _hosts_fetched(located, job) if fetched_to(located, job) == folder else set()


def mark_fetched(located: Located, job: str, folder: Path, hosts: Collection[str]) -> None:
    """Write fetched.json: the job was fetched into `folder`, and `folder` has all files of `hosts`. Only name
    hosts that were read after the job ended, because a running job may write more files."""
    path = located.jobs / job / FETCHED_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = {"job": job, "folder": str(folder), "hosts": sorted(hosts)}
    path.write_text(json.dumps(mark) + "\n", encoding="utf-8")


def clear_fetched_hosts(located: Located, job: str) -> None:
    """Remove all hosts from the job's fetched.json, because the job is restarted and will write more files. Do
    nothing if there is no such file."""
    if (located.jobs / job / FETCHED_FILE).exists():
        mark_fetched(located, job, fetched_to(located, job) or located.jobs / job, ())


def unfetched_jobs(located: Located, state: ClusterState) -> tuple[str, ...]:
    """Return the jobs that have files on at least one host from which they were not fetched after the job ended.
    `down` fetches these jobs before it removes the cluster."""
    hosts: dict[str, set[str]] = {}
    for name, seen in state.hosts.items():
        for job in filter(names.is_safe_file_name, seen.job_folders):
            hosts.setdefault(job, set()).add(name)
    return tuple(job for job, names_now in hosts.items() if not names_now <= _hosts_fetched(located, job))


def _hosts_fetched(located: Located, job: str) -> set[str]:
    """Return the hosts that fetched.json lists for the job. Empty if the folder that fetched.json names no longer
    exists."""
    try:
        mark = json.loads((located.jobs / job / FETCHED_FILE).read_text(encoding="utf-8"))
        return set(mark["hosts"]) if Path(mark["folder"]).is_dir() else set()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
