"""The verb `fetch`: copy a job's files to the controller, from every host that had a rank: outputs, logs, and what
the job left in the code folder. Takes no lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem, raise_all
from hvdocker.inventory.locate import Located, at_home
from hvdocker.inventory.state_folder import check_state_is_writable
from hvdocker.jobs.capsule.store import fetch_capsule_files
from hvdocker.jobs.log.save import LOG_FILE, save_master_state, write_log
from hvdocker.jobs.lookup import FoundJob, find_job, observe_jobs
from hvdocker.jobs.results.fetch_marks import mark_fetched, marked_into
from hvdocker.jobs.secrets.plan import CLEAN_EXIT_CODES
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.jobs.results.code_files import HostCode
    from hvdocker.jobs.results.merge import FetchedFiles
    from hvdocker.jobs.results.read_host import JobSource
    from hvdocker.transport.link import HostLink


@dataclass(frozen=True)
class FetchReport:
    """The result of the verb `fetch`. `folder` is where the files are now. `is_running` says whether the job still ran,
    so that it may write more files. `missing` has an error for every host that may have files of the job and could not
    be read."""

    job: str
    folder: Path
    fetched: FetchedFiles
    is_running: bool
    missing: tuple[HvdockerError, ...] = ()

    def raise_errors(self) -> None:
        """Raise an HvdockerError that names what could not be read: hosts (`missing`) and single files. Return if all
        was read. In both cases everything else has been fetched."""
        unread = self.fetched.incomplete_error
        errors = (*self.missing, *((unread,) if unread else ()))
        raise_all("some hosts of the job could not be asked for its files", errors)


def fetch(env: Env, located: Located, wanted: str | None, target: Path | None) -> FetchReport:
    """Fetch the files of a job into `target`, or into .hvdocker/jobs/<job> if `target` is None.

    `wanted` is a job id or the beginning of one; None means the newest job. Raises HvdockerError if no reachable host
    has files of the job."""
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
        if target is None:
            check_state_is_writable(located)
        before = marked_into(located, job, folder)
        code = find_code(session.links, observed.state)
        fetched = fetch_job_files(located, session, observed.state, job, folder, code)
        is_running = any(master.job == job for master in observed.state.running_jobs())
        if not is_running:
            came = fetched if has_ended(found, missing) else None
            # Without a mark, `down` fetches the job again.
            with _noting_unwritable_state(fetched):
                mark_fetched(located, job, before.with_fetched(came))
        return FetchReport(job, folder, fetched, is_running, missing)


def has_ended(found: FoundJob, missing: Sequence[HvdockerError]) -> bool:
    """Return whether a job has certainly ended. The caller has already seen that the job runs on none of the hosts that
    could be read.

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


def find_code(links: Mapping[str, HostLink], state: ClusterState) -> dict[str, HostCode]:
    """Return, by host, the files that jobs left in the code folders of the observed hosts (`state`). `links` has a link
    to each of them. Raises HvdockerError if a host does not answer."""
    from hvdocker.jobs.results.fetch_files import read_code
    from hvdocker.transport.pool import for_each_host

    running = {master.job for master in state.running_jobs()}
    folders = {name: seen.cluster_dir for name, seen in state.hosts.items() if seen.cluster_dir}
    outcomes = for_each_host(folders, lambda host: read_code(links[host], folders[host], running))
    return dict(outcomes.or_raise("the code folders could not be looked at"))


def fetch_job_files(
    located: Located,
    session: Session,
    state: ClusterState,
    job: str,
    folder: Path,
    code: Mapping[str, HostCode],
) -> FetchedFiles:
    """Fetch what the observed hosts (`state`) have of a job into `folder`: outputs, the logs of ranks and of the
    master, and files that the job left in the code folders (`code`, by host, from `find_code`). Return what was fetched
    and what was not.

    Capsule, job.json and the description of the master container (master.json) go to .hvdocker/jobs/<job>, even if
    `folder` is another folder."""
    from hvdocker.jobs.results.fetch_files import fetch_job
    from hvdocker.transport.errors import translating_errors

    sources = _sources(session, state, job, code)
    with translating_errors(", ".join(source.link.name for source in sources), f"fetching {job}"):
        fetched = fetch_job(job, sources, folder)
    fetched.code = {host: found.digest(job) for host, found in code.items() if host in fetched.hosts}
    with _noting_unwritable_state(fetched):
        fetched.skipped += fetch_capsule_files(located, session, state, job, folder)
    for number, master in enumerate(master for master in state.masters() if master.job == job):
        # A job restarted on other hosts may have two masters: the newest (first) one describes the job.
        name = f"{LOG_FILE}.{number}" if number else LOG_FILE
        saved = write_log(session.links[state.host_of(master)], master.name, folder, name)
        if saved.missing:
            fetched.skipped.append(f"{job}/logs/{name}: {saved.missing}")
        if not number:
            with _noting_unwritable_state(fetched):
                save_master_state(located, job, saved.inspected)
    return fetched


@contextmanager
def _noting_unwritable_state(fetched: FetchedFiles) -> Iterator[None]:
    """If the `with` block fails because .hvdocker/ cannot be written, add a note to `fetched.skipped` instead of
    raising. The outputs may have been fetched into another folder, so the fetch is still useful."""
    try:
        yield
    except OSError as error:
        fetched.skipped.append(f"{error.filename}: {error.strerror}")


def fetch_code_without_job(
    session: Session, state: ClusterState, cluster: str, folder: Path, code: Mapping[str, HostCode]
) -> FetchedFiles:
    """Fetch files that belong to no job from the code folders of hosts (`code`, by host) into `folder`. For example,
    `hvdocker exec` wrote them on hosts that have had no job. `cluster` is the name of the cluster, used in place of a
    job id."""
    from hvdocker.jobs.results.code_files import NO_JOB
    from hvdocker.jobs.results.fetch_files import fetch_job
    from hvdocker.transport.errors import translating_errors

    with translating_errors(cluster, "fetching what lies in the code folder"):
        fetched = fetch_job(cluster, _sources(session, state, NO_JOB, code), folder)
    fetched.code = {host: found.digest(NO_JOB) for host, found in code.items() if host in fetched.hosts}
    return fetched


def _sources(session: Session, state: ClusterState, job: str, code: Mapping[str, HostCode]) -> list[JobSource]:
    """Return one JobSource for each observed host (in `state`) that has files of the job: in its job folder, or in its
    code folder (`code`, by host)."""
    from hvdocker.jobs.results.read_host import JobSource

    sources = []
    for host, seen in state.hosts.items():
        has_folder, left = job in seen.job_folders, code[host].of(job) if host in code else ()
        if has_folder or left:
            folder = f"{seen.cluster_dir}/jobs/{job}" if has_folder else None
            worker = seen.worker(host)
            container = worker.name if worker else None
            sources.append(JobSource(session.links[host], folder, seen.cluster_dir or "", left, container))
    return sources
