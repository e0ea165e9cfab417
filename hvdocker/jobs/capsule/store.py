"""Stores the capsule of a job on the controller when the job starts or is fetched, and finds it again:
on the controller first, then on the job's hosts.

What a host returns is not trusted: only files with the expected names are read, up to a limit in bytes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import (
    CAPSULE_FILE,
    JOB_FILE,
    PATCH_FILE,
    PATCH_MAX_BYTES,
    RECORD_FILE,
    Capsule,
    CapsuleFiles,
)
from hvdocker.jobs.capsule.difference import read_record
from hvdocker.jobs.local_jobs import RECORD_COPY
from hvdocker.jobs.lookup import known_jobs
from hvdocker.observe.state import ClusterState
from hvdocker.shell import host_folders
from hvdocker.transport.session import Session, connected

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

JOB_FILES = (CAPSULE_FILE, JOB_FILE, PATCH_FILE, RECORD_FILE)
MAX_BYTES = 2 * PATCH_MAX_BYTES
# Names the host that a capsule came from. A capsule that this machine wrote has no such file beside it.
ORIGIN_FILE = "capsule.host"


@dataclass(frozen=True)
class StoredCapsule:
    """A job's capsule as it was found, with its patch and record.

    `patch` has the uncommitted code changes, empty if there are none or no copy was found. `record` is the text of the
    job's record.json, None if no copy was found. `host` is the host that the capsule came from, None if this controller
    wrote it. A capsule from a host is not trusted."""

    capsule: Capsule
    patch: bytes = b""
    record: str | None = None
    host: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether `record` says how the job ended. False if there is no record, if it was fetched while the job ran, or
        if the supervisor was killed before it could say so."""
        found = read_record(self.record)
        return found is not None and found.get("state") != "running"


def store_capsule(env: Env, located: Located, files: CapsuleFiles) -> None:
    """Store the capsule and its patch in .hvdocker/jobs/<job> on the controller when the job starts, so that `replay`
    can read them without asking a host.

    If they cannot be written, send a note to the user and return: the job goes on."""
    folder = located.jobs / files.capsule.job
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ORIGIN_FILE).unlink(missing_ok=True)
        _write(folder / CAPSULE_FILE, files.capsule.text().encode())
        if files.patch:
            _write(folder / PATCH_FILE, files.patch)
    except OSError as error:
        env.listener(Event("note", f"the job's capsule is not kept here: {error.strerror or error}"))


def fetch_capsule_files(located: Located, session: Session, state: ClusterState, job: str, target: Path) -> list[str]:
    """Fetch capsule, patch, job.json and record of a job from its observed hosts (`state`) into .hvdocker/jobs/<job>.
    Return texts for the user that say what could not be fetched and why; empty if nothing failed.

    `target` is the folder that the caller fetched outputs and logs into. If that is .hvdocker/jobs/<job> itself, the
    record is left out here, because it came with the logs. A capsule that this controller wrote is not replaced."""
    folder = located.jobs / job
    try:
        host, files = _first_of_each(session, state, job)
    except HvdockerError as error:
        if error.exit_code != HvdockerError.exit_code:
            raise
        return [f"{error.host}: {CAPSULE_FILE}: {error.what}"]
    folder.mkdir(parents=True, exist_ok=True)
    if CAPSULE_FILE in files and not _was_written_here(folder):
        _write(folder / ORIGIN_FILE, f"{host}\n".encode())
        for name in (CAPSULE_FILE, PATCH_FILE):
            if name in files:
                _write(folder / name, files[name])
    if JOB_FILE in files:
        _write(folder / JOB_FILE, files[JOB_FILE])
    if RECORD_FILE in files and target != folder:
        _write(folder / RECORD_COPY, files[RECORD_FILE])
    return []


def _first_of_each(session: Session, state: ClusterState, job: str) -> tuple[str, dict[str, bytes]]:
    """Return a host and the job's files. The host is the first one in `state` (the observed hosts) that has the
    capsule, or empty if none has it. The files are contents by file name; each file comes from the first host that has
    it."""
    by_host = _files_by_host(session, state, job)
    files = {name: body for there in reversed(by_host.values()) for name, body in there.items()}
    return next((host for host, there in by_host.items() if CAPSULE_FILE in there), ""), files


def find_capsules(
    env: Env, located: Located, wanted: tuple[str, ...], needs_record: bool = False
) -> list[StoredCapsule]:
    """Return the capsules of the jobs `wanted`, in this order. Each job is given by its id or a unique prefix of it.

    A capsule is read from the controller if it is there. Otherwise the hosts are asked for it. With `needs_record`
    they are also asked if the controller has no record of the job's end. Raises HvdockerError if a capsule is found
    nowhere."""
    found = {word: _stored(located, word) for word in wanted}
    lacking = [word for word, stored in found.items() if stored is None or (needs_record and not stored.has_ended)]
    if lacking:
        found |= _from_hosts(env, located, {word: found[word] for word in lacking})
    return [stored for word in wanted if (stored := found[word])]


def _from_hosts(
    env: Env, located: Located, wanted: Mapping[str, StoredCapsule | None]
) -> dict[str, StoredCapsule | None]:
    """Return the capsules of the jobs in `wanted`, completed with files from the hosts.

    The keys of `wanted` are job ids or prefixes. A value is the capsule that the controller has, or None if it has
    none. If the hosts cannot be read, the error is raised if a value is None. Otherwise only records are missing:
    then a note is sent, and `wanted` is returned unchanged."""
    try:
        with connected(env, located, must_all=False) as session:
            from hvdocker.observe.hosts import partial_state

            state, failed = partial_state(located.inventory, session.links, False, session.links)
            try:
                return {word: find_capsule_on_hosts(session, state, word, known) for word, known in wanted.items()}
            except UsageProblem:
                # The job may be on a host that could not be asked.
                raise_all("some hosts cannot be reached", [*session.failed.values(), *failed.values()])
                raise
    except HvdockerError as error:
        if None in wanted.values():
            raise
        env.listener(Event("note", f"the hosts could not be asked how it ended: {error.what}", error.host))
        return dict(wanted)


def _stored(located: Located, wanted: str) -> StoredCapsule | None:
    jobs = sorted(path.parent.name for path in located.jobs.glob(f"*/{CAPSULE_FILE}"))
    if wanted not in jobs and len([job for job in jobs if job.startswith(wanted)]) != 1:
        return None
    folder = located.jobs / names.match_job(wanted, jobs)
    capsule = Capsule.read(_text(folder / CAPSULE_FILE) or "")
    if capsule is None:
        return None
    host = _text(folder / ORIGIN_FILE)
    return StoredCapsule(
        capsule,
        _bytes(folder / PATCH_FILE),
        _text(folder / RECORD_FILE) or _text(folder / RECORD_COPY),
        host.strip() if host else None,
    )


def find_capsule_on_hosts(
    session: Session, state: ClusterState, wanted: str, known: StoredCapsule | None
) -> StoredCapsule:
    """Return the capsule of the job `wanted` (an id or a prefix), with files from the observed hosts (`state`). `known`
    is the capsule that the controller has, None if it has none.

    If `known` is None, the capsule and its patch come from the first host that has them. If the end of the job is
    not known yet, its record is added from the hosts. Raises UsageProblem if there is no capsule anywhere."""
    job = known.capsule.job if known else names.match_job(wanted, known_jobs(state))
    by_host = _files_by_host(session, state, job)
    found = known
    for host, files in by_host.items():
        found = found or _capsule_from(host, files)
        if found and found.host and not found.patch:
            found = replace(found, patch=files.get(PATCH_FILE, b""))
        if found and not found.has_ended and RECORD_FILE in files:
            found = replace(found, record=files[RECORD_FILE].decode("utf-8", "replace"))
    if found is None:
        raise UsageProblem(
            f"{job} has no capsule: neither here nor on {', '.join(by_host) or 'any host'}",
            fix="jobs that an earlier version started have none",
        )
    return found


def _capsule_from(host: str, files: Mapping[str, bytes]) -> StoredCapsule | None:
    capsule = Capsule.read(files.get(CAPSULE_FILE, b"").decode("utf-8", "replace"))
    return StoredCapsule(capsule, host=host) if capsule else None


def _files_by_host(session: Session, state: ClusterState, job: str) -> dict[str, dict[str, bytes]]:
    having = [name for name, seen in state.hosts.items() if job in seen.job_folders]
    return {
        name: _read_job_files(session.links[name], f"{state.hosts[name].cluster_dir}/jobs/{job}") for name in having
    }


def _read_job_files(link: HostLink, folder: str) -> dict[str, bytes]:
    """Return, by name, the content of those files in JOB_FILES that exist in `folder`, the job's folder on a host. A
    job that an earlier version of hvdocker started lacks some of the files. Raises HvdockerError if the files are too
    large or arrive damaged."""
    read = bytearray()
    for chunk in link.stream(host_folders.pack_tar(folder, JOB_FILES)):
        read += chunk
        if len(read) > MAX_BYTES:
            raise HvdockerError(f"the job's files in {folder} are too large", host=link.name)
    try:
        with tarfile.open(fileobj=io.BytesIO(read)) as tar:
            found = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
            return {name: file.read() for name, file in found.items() if file and name in JOB_FILES}
    except (tarfile.TarError, OSError, ValueError, LookupError) as error:
        raise HvdockerError("the job's files arrived damaged", host=link.name, lines=[str(error)]) from error


def _was_written_here(folder: Path) -> bool:
    return (folder / CAPSULE_FILE).is_file() and not (folder / ORIGIN_FILE).exists()


def _write(path: Path, content: bytes) -> None:
    """Write a file so that a reader never sees it half written. Only the owner can read it."""
    draft = path.with_name(f"{path.name}.part")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_bytes(content)
    draft.replace(path)


def _bytes(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""


def _text(path: Path) -> str | None:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return None
