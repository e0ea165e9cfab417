"""Decide which files in the code folder of a host are a job's work, and of which job. Pure.

A file is a job's work if no sync put it there, or if it has changed since the sync put it there. Several jobs use
one code folder. A file belongs to the newest job that ran when the file was last changed."""

from __future__ import annotations

import calendar
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker import names
from hvdocker.shell.host_folders import REPLACED_FOLDER
from hvdocker.sync.tree import parse_listing, parse_rows

# The files of this job were written while the cluster had no job, for example by `hvdocker exec`.
NO_JOB = ""
_SECTIONS = 5


@dataclass(frozen=True)
class CodeFile:
    """A file that a job left in the code folder.

    `source` is its path below the cluster's folder on the host, `name` its path in the job's folder on the controller.
    `look` has its mode, size and times. `is_closed`: it is a folder that the SSH user cannot read."""

    source: str
    name: str
    look: bytes = b""
    is_closed: bool = False

    @property
    def size_bytes(self) -> int:
        size = self.look.split(b"/")[1:2]
        return int(size[0]) if size and size[0].isdigit() else 0

    @property
    def changed(self) -> bytes:
        """When the file was last changed, as text of the host's clock."""
        return self.look.rpartition(b"/")[2]


@dataclass(frozen=True)
class HostCode:
    """What jobs left in the code folder of one host, by job."""

    files: Mapping[str, tuple[CodeFile, ...]] = field(default_factory=dict)

    def of(self, job: str) -> tuple[CodeFile, ...]:
        return self.files.get(job, ())

    def digest(self, job: str) -> str:
        """Return a text that changes when one of the job's files changes. Empty if the job has no files."""
        looks = sorted((file.source.encode("utf-8", "surrogateescape"), file.look) for file in self.of(job))
        return hashlib.sha256(repr(looks).encode()).hexdigest() if looks else ""


@dataclass(frozen=True)
class _Period:
    """The time in which a job ran on the host, as texts of its clock. `end` is None if the job still runs."""

    job: str
    start: bytes
    end: bytes | None

    def contains(self, time: bytes) -> bool:
        return self.start <= time and (self.end is None or time <= self.end)


def parse_code(answer: bytes, running: Collection[str]) -> HostCode | None:
    """Parse the answer to `list_code`. `running` are the jobs that run. Return None if the answer is incomplete."""
    if not answer:
        return HostCode()
    *sections, last = answer.split(b"\0")
    if len(sections) < _SECTIONS or last != b"done":
        return None
    index, pending, code, replaced, jobs = sections[:_SECTIONS]
    periods = _periods(parse_listing(jobs), running)
    files: dict[str, list[CodeFile]] = {}
    for file in (*_changed(index, pending, code), *_replaced(replaced)):
        files.setdefault(_job_of(file.changed, periods), []).append(file)
    for raw in sections[_SECTIONS:]:
        path = raw.decode("utf-8", "surrogateescape")
        newest = periods[-1].job if periods else NO_JOB
        files.setdefault(newest, []).append(CodeFile(path, path, is_closed=True))
    return HostCode({job: tuple(_with_own_names(found)) for job, found in files.items()})


def _changed(index: bytes, pending: bytes, code: bytes) -> Iterator[CodeFile]:
    """Yield the files that are not as the last sync left them."""
    synced = parse_listing(index.partition(b"\n")[2].partition(b"\n")[2])
    unfinished = {str(row[0]): row for line in pending.splitlines() for row in parse_rows(line)}
    for path, look in parse_listing(code).items():
        if synced.get(path) != look and not _is_of_sync(look, unfinished.get(path)):
            yield CodeFile(f"code/{path}", f"code/{path}", look)


def _is_of_sync(look: bytes, row: list[object] | None) -> bool:
    """Whether an interrupted sync put the file there: it has the size and the time that the sync gives it, or is a
    link. `row` is the row of the file in the list of what that sync was about to write."""
    if row is None:
        return False
    mode, size, modified, _ = (*look.split(b"/"), b"", b"", b"", b"")[:4]
    if row[5]:
        return mode.startswith(b"a")
    numbers = [int(number) for number in re.findall(rb"\d+", modified[:19])]
    seconds = calendar.timegm((*numbers, 0, 0, 0)) if len(numbers) == 6 else None
    return size == str(row[2]).encode() and isinstance(row[3], int) and row[3] // 1_000_000_000 == seconds


def _replaced(listing: bytes) -> Iterator[CodeFile]:
    """Yield the files that syncs replaced, newest first. Their folder has a folder for each sync."""
    found = parse_listing(listing).items()
    for path, look in sorted(found, key=lambda item: item[1].rpartition(b"/")[2], reverse=True):
        _, _, name = path.partition("/")
        if name:
            yield CodeFile(f"{REPLACED_FOLDER}/{path}", f"code/{name}", look)


def _with_own_names(files: list[CodeFile]) -> Iterator[CodeFile]:
    """Yield the files under names that differ. An older version of a file gets the sync that replaced it as suffix."""
    taken: set[str] = set()
    for file in files:
        name = file.name
        if name in taken:
            name = f"{name}.{file.source[len(REPLACED_FOLDER) + 1 :].partition('/')[0]}"
        taken.add(name)
        yield CodeFile(file.source, name, file.look, file.is_closed)


def _periods(listing: Mapping[str, bytes], running: Collection[str]) -> list[_Period]:
    """Return when each job ran, by start. A job began before its oldest file was written, and ended when its newest
    one was: rank wrappers write how a rank ended."""
    times: dict[str, list[bytes]] = {}
    for path, look in listing.items():
        job = path.partition("/")[0]
        if names.is_safe_file_name(job):
            times.setdefault(job, []).append(look.split(b"/")[2] if look.count(b"/") == 3 else b"")
    periods = [_Period(job, min(seen), None if job in running else max(seen)) for job, seen in times.items()]
    return sorted(periods, key=lambda period: (period.start, period.job))


def _job_of(time: bytes, periods: list[_Period]) -> str:
    """Return the newest job that ran at that time, else the newest one that had begun, else the newest of all."""
    within = [period for period in periods if period.contains(time)]
    begun = [period for period in periods if period.start <= time]
    chosen = within or begun or periods
    return chosen[-1].job if chosen else NO_JOB
