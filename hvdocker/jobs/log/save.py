"""Save a job's output to the controller: logs/output.log in the job's folder. The engine's log is bounded in size. If
its beginning is known to be gone, the first line of the file says so."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvdocker import names
from hvdocker.inventory.locate import Located
from hvdocker.jobs.local_jobs import write_master_file
from hvdocker.protocol.record import JobRecord

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

LOG_FILE = "output.log"


@dataclass(frozen=True)
class SavedLog:
    """The result of saving a log. `inspected` is what `docker inspect` says about the container; values are `Any`
    because they come from parsed JSON. `missing` tells the user which part of the output is missing; it is empty if
    none is known to be missing."""

    inspected: Mapping[str, Any]
    missing: str = ""


def save_log(located: Located, job: str, link: HostLink, container: str, record: JobRecord | None = None) -> SavedLog:
    """Write the job's output to .hvdocker/jobs/<job>/logs/output.log on the controller, and a description of its master
    (`container`) to .hvdocker/jobs/<job>/master.json. Existing files are replaced. `record` is the job's record if the
    caller has read it; otherwise it is read here."""
    saved = write_log(link, container, located.jobs / job, record=record)
    save_master_state(located, job, saved.inspected)
    return saved


def save_master_state(located: Located, job: str, inspected: Mapping[str, Any]) -> None:
    """Write the job's master.json on the controller: what `jobs` needs to list the job after its container is gone.
    `inspected` is what `docker inspect` says about the master container."""
    from hvdocker.observe.masters import master_facts

    write_master_file(located, job, master_facts(inspected))


def write_log(
    link: HostLink, container: str, folder: Path, name: str = LOG_FILE, record: JobRecord | None = None
) -> SavedLog:
    """Write the log of a master `container` to the file logs/`name` below `folder`. An existing file is replaced only
    when the whole log was read. If the beginning of the log is known to be gone, the first line of the file says so.
    `record` is the job's record; None means that it is read here."""
    from hvdocker.engine.container_errors import translating_container_errors

    path = folder / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{name}.part")
    with translating_container_errors(link, container, "reading the job's log"):
        lines = _write_lines(link, container, draft)
        # The SDK ends a stream silently when the link breaks: this call raises if the link is dead.
        inspected: Mapping[str, Any] = link.engine().inspect_container(container)
        missing = missing_beginning(link, container, lines, record)
    if missing:
        _put_first(draft, f"hvdocker: {missing}\n")
    draft.replace(path)
    return SavedLog(inspected, missing)


def _write_lines(link: HostLink, container: str, path: Path) -> int:
    """Write the log of the container to the file `path`, and return the number of lines in the log. A file that exists
    at `path` is removed first."""
    lines = 0
    # An existing file may have come from a host: writing through a symlink would change another file.
    path.unlink(missing_ok=True)
    with path.open("xb") as file:
        for chunk in link.engine().logs(container, stream=True, follow=False):
            file.write(chunk)
            lines += chunk.count(b"\n")
    return lines


def missing_beginning(link: HostLink, container: str, lines: int, record: JobRecord | None = None) -> str:
    """Return a text that says which part of the output is missing from the log of the master `container`, which has
    `lines` lines. Empty if none is known to be missing, for example because there is no record. `record` is the job's
    record; None means that it is read here.

    The number of lines in the log is compared with a count in record.json. The supervisor updates this count at the
    end of every run of the launcher. It does not count its own lines, which are few."""
    record = record or _read_record(link, container)
    gone = record.output_lines - lines if record else 0
    if gone <= 0:
        return ""
    return (
        f"the first {gone} lines of the output are missing: the engine keeps only its last 150 MB; "
        "what each rank printed last is in rank-N.log"
    )


def _read_record(link: HostLink, container: str) -> JobRecord | None:
    from hvdocker.engine import archive
    from hvdocker.engine.container_errors import translating_container_errors

    with translating_container_errors(link, container, "reading the job's record"):
        text = archive.read_text(link.engine(), container, f"{names.CONTAINER_FOLDER}/record.json")
    return JobRecord.read(text) if text else None


def _put_first(path: Path, line: str) -> None:
    """Insert a line before the content of the file `path`. `line` includes its newline."""
    longer = path.with_name(f"{path.name}2")
    longer.unlink(missing_ok=True)
    with path.open("rb") as content, longer.open("xb") as file:
        file.write(line.encode())
        shutil.copyfileobj(content, file)
    longer.replace(path)
