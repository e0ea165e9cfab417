"""Capsules of jobs: kept at home when a job starts or is fetched, found again here or on its hosts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import (
    CAPSULE_FILE,
    JOB_FILE,
    PATCH_FILE,
    RECORD_FILE,
    Capsule,
    CapsuleFiles,
)
from hvdocker.jobs.capsule.difference import read_record
from hvdocker.jobs.local_jobs import RECORD_COPY
from hvdocker.jobs.lookup import known_jobs
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session, connected

# Beside a capsule that a host gave us: its name. What this machine wrote itself has none.
ORIGIN_FILE = "capsule.host"


@dataclass(frozen=True)
class StoredCapsule:
    """What is known of a job that was: `host` is the one that told its capsule; None where this machine wrote
    it. `record` is the text of how it ended, where it did."""

    capsule: Capsule
    patch: bytes = b""
    record: str | None = None
    host: str | None = None

    @property
    def has_ended(self) -> bool:
        """A record is there from the start on: one that came home early tells of a job that runs."""
        found = read_record(self.record)
        return found is not None and found.get("state") != "running"


def keep_at_home(env: Env, located: Located, papers: CapsuleFiles) -> None:
    """At once: a replay from here needs no host. That it cannot be written is no reason to leave the job."""
    folder = located.jobs / papers.capsule.job
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ORIGIN_FILE).unlink(missing_ok=True)
        _write(folder / CAPSULE_FILE, papers.capsule.text().encode())
        if papers.patch:
            _write(folder / PATCH_FILE, papers.patch)
    except OSError as error:
        env.listener(Event("note", f"the job's capsule is not kept here: {error.strerror or error}"))


def bring_papers(
    located: Located, session: Session, state: ClusterState, job: str, target: Path
) -> list[str]:
    """What hosts have of a job beside its outputs, which went to `target`. The capsule that this machine
    wrote itself stays. Returns what could not be had, with the reason."""
    folder = located.jobs / job
    try:
        host, papers = _gathered(session, state, job)
    except HvdockerError as error:
        if error.exit_code != HvdockerError.exit_code:
            raise
        return [f"{error.host}: {CAPSULE_FILE}: {error.what}"]
    folder.mkdir(parents=True, exist_ok=True)
    if CAPSULE_FILE in papers and not _is_own(folder):
        _write(folder / ORIGIN_FILE, f"{host}\n".encode())
        for name in (CAPSULE_FILE, PATCH_FILE):
            if name in papers:
                _write(folder / name, papers[name])
    if JOB_FILE in papers:
        _write(folder / JOB_FILE, papers[JOB_FILE])
    if RECORD_FILE in papers and target != folder:
        _write(folder / RECORD_COPY, papers[RECORD_FILE])
    return []


def _gathered(session: Session, state: ClusterState, job: str) -> tuple[str, dict[str, bytes]]:
    """The host that gave the capsule, and every paper from the first that has it."""
    told = told_by_hosts(session, state, job)
    papers = {name: body for there in reversed(told.values()) for name, body in there.items()}
    return next((host for host, there in told.items() if CAPSULE_FILE in there), ""), papers


def find_all(
    env: Env, located: Located, wanted: tuple[str, ...], needs_record: bool = False
) -> list[StoredCapsule]:
    """Jobs by id or its beginning: at home where they are, else as hosts tell."""
    found = {word: _at_home(located, word) for word in wanted}
    lacking = [word for word, kept in found.items() if kept is None or (needs_record and not kept.has_ended)]
    if lacking:
        found |= _from_hosts(env, located, {word: found[word] for word in lacking})
    return [kept for word in wanted if (kept := found[word])]


def _from_hosts(
    env: Env, located: Located, wanted: Mapping[str, StoredCapsule | None]
) -> dict[str, StoredCapsule | None]:
    """What is known at home already is no reason to insist on hosts."""
    try:
        with connected(env, located, must_all=False) as session:
            from hvdocker.observe.hosts import partial_state

            state, _ = partial_state(located.inventory, session.links, False, session.links)
            return {word: seen_on_hosts(session, state, word, known) for word, known in wanted.items()}
    except HvdockerError as error:
        if None in wanted.values():
            raise
        env.listener(Event("note", f"the hosts could not be asked how it ended: {error.what}", error.host))
        return dict(wanted)


def _at_home(located: Located, wanted: str) -> StoredCapsule | None:
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


def seen_on_hosts(
    session: Session, state: ClusterState, wanted: str, known: StoredCapsule | None
) -> StoredCapsule:
    """Of each thing the word of the first host that has it. What is known already is only completed."""
    job = known.capsule.job if known else names.match_job(wanted, known_jobs(state))
    told = told_by_hosts(session, state, job)
    found = known
    for host, papers in told.items():
        found = found or _told(host, papers)
        if found and found.host and not found.patch:
            found = replace(found, patch=papers.get(PATCH_FILE, b""))
        if found and not found.has_ended and RECORD_FILE in papers:
            found = replace(found, record=papers[RECORD_FILE].decode("utf-8", "replace"))
    if found is None:
        raise UsageProblem(
            f"{job} has no capsule: neither here nor on {', '.join(told) or 'any host'}",
            fix="jobs that an earlier version started have none",
        )
    return found


def _told(host: str, papers: Mapping[str, bytes]) -> StoredCapsule | None:
    capsule = Capsule.read(papers.get(CAPSULE_FILE, b"").decode("utf-8", "replace"))
    return StoredCapsule(capsule, host=host) if capsule else None


def told_by_hosts(session: Session, state: ClusterState, job: str) -> dict[str, dict[str, bytes]]:
    from hvdocker.jobs.capsule.job_files import read_papers

    having = [name for name, seen in state.hosts.items() if job in seen.job_folders]
    return {
        name: read_papers(session.links[name], f"{state.hosts[name].cluster_dir}/jobs/{job}")
        for name in having
    }


def _is_own(folder: Path) -> bool:
    return (folder / CAPSULE_FILE).is_file() and not (folder / ORIGIN_FILE).exists()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, for its owner only."""
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
