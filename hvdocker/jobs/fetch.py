"""The verb `fetch`: copy outputs and logs of a job to the controller, from every host that had a rank. Also
keeps the mark (fetched.json) that says which hosts' files were fetched after the job ended, and where to.
Takes no lock."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem, raise_all
from hvdocker.inventory.locate import Located, at_home
from hvdocker.jobs.capsule.store import fetch_capsule_files
from hvdocker.jobs.local_jobs import FETCHED_FILE, fetched_to, write_master_file
from hvdocker.jobs.lookup import FoundJob, find_job, observe_jobs
from hvdocker.jobs.secrets.plan import CLEAN_EXIT_CODES
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.jobs.results.merge import FetchedFiles
    from hvdocker.transport.link import HostLink

LOG_FILE = "output.log"


@dataclass(frozen=True)
class FetchReport:
    """`missing` has an error for every host that may have files of the job and could not be read."""

    job: str
    folder: Path
    fetched: FetchedFiles
    is_running: bool
    missing: tuple[HvdockerError, ...] = ()

    def complain(self) -> None:
        """Raise if some hosts could not be read (`missing`). The files of the other hosts have been fetched."""
        raise_all("some hosts of the job could not be asked for its files", self.missing)


def fetch(env: Env, located: Located, wanted: str | None, target: Path | None) -> FetchReport:
    """Fetch the job `wanted` (id or its beginning; None is the newest) into `target`.

    Without `target` the files go to .hvdocker/jobs/<job>. Raises where no host has files of the job."""
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
    """Return whether a job that is not seen running has certainly ended.

    With a host unreachable, the job may have been restarted there, unless its supervisor ended by itself."""
    masters = [master for master in found.observed.state.masters() if master.job == found.job]
    return not missing or any(not one.is_living and one.exit_code in CLEAN_EXIT_CODES for one in masters)


def missing_hosts(found: FoundJob) -> tuple[HvdockerError, ...]:
    """Return the errors of unreachable hosts that are, or may be, hosts of the job.

    An elastic job, or one whose container was not found, may have had ranks on any host."""
    away = found.observed.unreachable
    is_told = found.master is not None and names.LABEL_ELASTIC not in found.master.labels
    return tuple(error for name, error in away.items() if not is_told or name in found.placement.hosts)


def _no_files_left(found: FoundJob) -> UsageProblem:
    what = f"no host has anything of {found.job} any more"
    return UsageProblem(what, fix=f"it lies here: {found.local.folder}" if found.local else None)


def fetch_job_files(located: Located, session: Session, state: ClusterState, job: str, folder: Path) -> FetchedFiles:
    """Fetch all that the observed hosts have of a job into `folder`: outputs, ranks' and master's logs.

    Capsule, job.json and the master's description go to .hvdocker/jobs/<job>, whatever `folder` is."""
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
        inspected = _write_log(session.links[state.host_of(master)], master.name, folder, name)
        if not number:
            _save_master_state(located, job, inspected)
    return fetched


def save_log(located: Located, job: str, link: HostLink, container: str) -> None:
    """Write the job's whole output to .hvdocker/jobs/<job>/logs/output.log, with the master's description."""
    _save_master_state(located, job, _write_log(link, container, located.jobs / job))


def _save_master_state(located: Located, job: str, inspected: Mapping[str, Any]) -> None:
    """Save the master's description as master.json. Any: the engine's JSON."""
    from hvdocker.observe.masters import master_facts

    write_master_file(located, job, master_facts(inspected))


def _write_log(link: HostLink, container: str, folder: Path, name: str = LOG_FILE) -> Mapping[str, Any]:
    """Write the container's log to folder/logs/name; return `docker inspect` of the container. Any: JSON."""
    from hvdocker.engine.container_errors import translating_container_errors

    path = folder / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{name}.part")
    with translating_container_errors(link, container, "reading the job's log"):
        # An existing file may have come from a host: writing through a symlink would change another file.
        draft.unlink(missing_ok=True)
        with draft.open("xb") as file:
            for chunk in link.engine().logs(container, stream=True, follow=False):
                file.write(chunk)
        # The SDK ends a stream silently when the link breaks: this call raises if the link is dead.
        inspected: Mapping[str, Any] = link.engine().inspect_container(container)
        draft.replace(path)
    return inspected


def hosts_fetched_into(located: Located, job: str, folder: Path) -> set[str]:
    """Return the hosts whose files were fetched into `folder` after the job ended, and are still there.

    Call this before fetching more into the folder."""
    return _hosts_fetched(located, job) if fetched_to(located, job) == folder else set()


def mark_fetched(located: Located, job: str, folder: Path, hosts: Collection[str]) -> None:
    """Record that the job has ended and that all files which `hosts` had of it are in `folder`."""
    path = located.jobs / job / FETCHED_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = {"job": job, "folder": str(folder), "hosts": sorted(hosts)}
    path.write_text(json.dumps(mark) + "\n", encoding="utf-8")


def clear_fetched_hosts(located: Located, job: str) -> None:
    """Forget which hosts were fetched, because the job is restarted and will write more files."""
    if (located.jobs / job / FETCHED_FILE).exists():
        mark_fetched(located, job, fetched_to(located, job) or located.jobs / job, ())


def unfetched_jobs(located: Located, state: ClusterState) -> tuple[str, ...]:
    """Return the jobs of which at least one host has files that were not fetched. `down` fetches these."""
    hosts: dict[str, set[str]] = {}
    for name, seen in state.hosts.items():
        for job in filter(names.is_safe_file_name, seen.job_folders):
            hosts.setdefault(job, set()).add(name)
    return tuple(job for job, names_now in hosts.items() if not names_now <= _hosts_fetched(located, job))


def _hosts_fetched(located: Located, job: str) -> set[str]:
    """Return the hosts whose files were fetched; none if the folder that the mark names no longer exists."""
    try:
        mark = json.loads((located.jobs / job / FETCHED_FILE).read_text(encoding="utf-8"))
        return set(mark["hosts"]) if Path(mark["folder"]).is_dir() else set()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
