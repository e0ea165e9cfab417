"""Decide which files in the code folder of a host are a job's work, and of which job. Pure.

A file is a job's work if no sync wrote it, or if it has changed since a sync wrote it. Several jobs use one code
folder. A file belongs to the newest job that ran when the file was last changed."""

from __future__ import annotations

import calendar
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from hvdocker import names
from hvdocker.shell.host_folders import REPLACED_FOLDER
from hvdocker.sync.tree import parse_listing, parse_rows

# Stands for a job id for the files on a host that has had no job, for example files that `hvdocker exec` wrote.
NO_JOB = ""
_SECTIONS = 5


@dataclass(frozen=True)
class CodeFile:
    """A file that a job left in the code folder of a host.

    `source` is its path below the cluster's folder on the host, `name` its path in the job's folder on the
    controller. `source` is in the folder `code`, or in REPLACED_FOLDER if a later sync replaced the file. `look` has
    mode, size and times, as text `MODE/SIZE/MODIFIED/CHANGED`. `is_closed` means that this is not a file but a
    folder that the SSH user cannot read."""

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
        """When the file was last changed, by the host's clock. Times are texts that sort in order of time."""
        return self.look.rpartition(b"/")[2]


@dataclass(frozen=True)
class HostCode:
    """The files that jobs left in the code folder of one host, by job id. If the host has had no job, the files are
    under the key NO_JOB."""

    files: Mapping[str, tuple[CodeFile, ...]] = field(default_factory=dict)

    def of(self, job: str) -> tuple[CodeFile, ...]:
        return self.files.get(job, ())

    def digest(self, job: str) -> str:
        """Return a text that changes when one of the job's files changes. It shows whether a fetched copy is up to
        date. Empty if the job left no files."""
        looks = sorted((file.source.encode("utf-8", "surrogateescape"), file.look) for file in self.of(job))
        return hashlib.sha256(repr(looks).encode()).hexdigest() if looks else ""


@dataclass(frozen=True)
class _Period:
    """The period in which a job ran on a host, by the host's clock. `start` and `end` are texts that sort in order of
    time; `end` is None if the job still runs."""

    job: str
    start: bytes
    end: bytes | None

    def contains(self, time: bytes) -> bool:
        return self.start <= time and (self.end is None or time <= self.end)


def parse_code(answer: bytes, running: Collection[str]) -> HostCode | None:
    """Return the files that jobs left in a code folder, by job. `answer` is the decompressed output of the command from
    `list_code`. `running` are the ids of the jobs that run now. Return None if the answer is incomplete. An empty
    answer (no such cluster) means no files."""
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
    """Yield the files in the code folder that jobs wrote: those that differ from what the last sync wrote. The
    arguments are sections of the output of the command from `list_code`. `index` is the index of the last sync,
    `pending` has the rows of interrupted syncs, and `code` has the files as they are now."""
    synced = parse_listing(index.partition(b"\n")[2].partition(b"\n")[2])
    unfinished = {str(row[0]): row for line in pending.splitlines() for row in parse_rows(line)}
    for path, look in parse_listing(code).items():
        if synced.get(path) != look and not _is_of_sync(look, unfinished.get(path)):
            yield CodeFile(f"code/{path}", f"code/{path}", look)


def _is_of_sync(look: bytes, row: list[object] | None) -> bool:
    """Return whether an interrupted sync, and not a job, wrote a file. A file is the sync's if it has the size and time
    that the sync would give it. A symlink is the sync's if the sync was about to write a symlink there.

    `look` has the file's mode, size and times, as text `MODE/SIZE/MODIFIED/CHANGED`. `row` is the file's row in the
    list of what the sync was about to write, None if the list does not have the file."""
    if row is None:
        return False
    mode, size, modified, _ = (*look.split(b"/"), b"", b"", b"", b"")[:4]
    if row[5]:
        return mode.startswith(b"a")
    numbers = [int(number) for number in re.findall(rb"\d+", modified[:19])]
    seconds = calendar.timegm((*numbers, 0, 0, 0)) if len(numbers) == 6 else None
    return size == str(row[2]).encode() and isinstance(row[3], int) and row[3] // 1_000_000_000 == seconds


def _replaced(listing: bytes) -> Iterator[CodeFile]:
    """Yield the files that jobs had written and that later syncs moved away, newest first. Each sync moves them to a
    folder of its own in REPLACED_FOLDER; `listing` lists the files in these folders."""
    found = parse_listing(listing).items()
    for path, look in sorted(found, key=lambda item: item[1].rpartition(b"/")[2], reverse=True):
        _, _, name = path.partition("/")
        if name:
            yield CodeFile(f"{REPLACED_FOLDER}/{path}", f"code/{name}", look)


def _with_own_names(files: list[CodeFile]) -> Iterator[CodeFile]:
    """Yield the files, each with a name of its own. If two files have the same name, the later one in `files` is an
    older version. It gets a suffix: the name of the sync that replaced it."""
    taken: set[str] = set()
    for file in files:
        name = file.name
        if name in taken:
            name = f"{name}.{file.source[len(REPLACED_FOLDER) + 1 :].partition('/')[0]}"
        taken.add(name)
        yield CodeFile(file.source, name, file.look, file.is_closed)


def _periods(listing: Mapping[str, bytes], running: Collection[str]) -> list[_Period]:
    """Return when each job ran, ordered by start. `listing` has the files of all job folders by path; a path begins
    with the job id. The values are texts `MODE/SIZE/MODIFIED/CHANGED`. `running` are the ids of the jobs that run now.

    A job's period goes from the time of its oldest file to that of its newest. The newest is written at the end, when
    rank wrappers record how their ranks ended."""
    times: dict[str, list[bytes]] = {}
    for path, look in listing.items():
        job = path.partition("/")[0]
        if names.is_safe_file_name(job):
            times.setdefault(job, []).append(look.split(b"/")[2] if look.count(b"/") == 3 else b"")
    periods = [_Period(job, min(seen), None if job in running else max(seen)) for job, seen in times.items()]
    return sorted(periods, key=lambda period: (period.start, period.job))


def _job_of(time: bytes, periods: list[_Period]) -> str:
    """Return the id of the job to which a file belongs. `time` is when the file was last changed; `periods` says when
    each job ran.

    The job is the newest one that ran at `time`. If none did, it is the newest one that had started before, else the
    newest of all. Return NO_JOB if there are no jobs."""
    within = [period for period in periods if period.contains(time)]
    begun = [period for period in periods if period.start <= time]
    chosen = within or begun or periods
    return chosen[-1].job if chosen else NO_JOB
