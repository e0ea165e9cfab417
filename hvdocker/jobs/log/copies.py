"""Read a job's output when its master container is gone or unreachable: from a copy on the controller, or from the
ranks' log files on hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.errors import HvdockerError, raise_all
from hvdocker.jobs.lookup import FoundJob
from hvdocker.launchers import named
from hvdocker.protocol.output import Line, LineAssembler, LineFilter, parse_line, without_states

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

_CHUNK = 1 << 20
# How much of each rank's log, from its end, is read over the link.
MAX_RANK_LOG_BYTES = 4 << 20


@dataclass(frozen=True)
class LogCopy:
    """A copy of a job's output. `where` tells the user where the lines come from, such as `the copy at home, PATH`.
    `lines` can be read once, while the links to the hosts are open."""

    where: str
    lines: Iterator[Line]


def find_log_copy(found: FoundJob) -> LogCopy:
    """Return the best copy of the output of a job whose master container cannot be read. Raises HvdockerError if there
    is none.

    The order of preference is: the output of the whole job on the controller, ranks' log files on hosts, ranks' log
    files that were fetched to the controller."""
    home = found.local
    if home and home.output:
        return LogCopy(f"the copy at home, {home.output}", _from_file(home.output, found))
    there = [name for name in found.observed.hosts_with_files(found.job) if _ranks_on(found, name)]
    if there:
        return LogCopy(f"what the ranks on {', '.join(there)} said, rank by rank", _from_hosts(found, there))
    if home and (logs := home.rank_logs()):
        return LogCopy(f"what came home of single ranks, {home.folder / 'logs'}", _from_rank_files(logs, found))
    raise_all("some hosts cannot be reached", list(found.observed.unreachable.values()))
    raise HvdockerError(
        f"the output of {found.job} is gone: its container is, and nothing of it lies at home or on the hosts"
    )


def last_matching(lines: Iterable[Line], wanted: LineFilter, count: int | None) -> Iterator[Line]:
    """Yield the last `count` lines that pass the filter `wanted`, in order. Yield all that pass if `count` is None."""
    taken = (line for line in lines if wanted.matches(line))
    if count is None:
        yield from taken
        return
    from collections import deque

    yield from deque(taken, maxlen=count)


def _from_file(path: Path, found: FoundJob) -> Iterator[Line]:
    host_of_rank = found.placement.host_of_rank()
    lines = (parse_line(raw, host_of_rank) for raw in _raw_lines(_chunks(path)))
    return named(found.launcher).filter(without_states(lines))


def _from_rank_files(logs: dict[int, Path], found: FoundJob) -> Iterator[Line]:
    hosts = dict(enumerate(found.placement.host_of_rank()))
    for rank, path in sorted(logs.items()):
        earlier = path.with_name(f"{path.name}.1")
        chunks = [chunk for one in (earlier, path) if one.is_file() for chunk in _chunks(one)]
        yield from (Line(raw, rank, hosts.get(rank)) for raw in _raw_lines(chunks))


def _from_hosts(found: FoundJob, hosts: Iterable[str]) -> Iterator[Line]:
    from hvdocker.jobs.log.rank_logs import end_of_rank_log
    from hvdocker.transport.link import run_or_raise

    for name in hosts:
        link, folder = found.observed.links[name], found.observed.folder(name, found.job)
        for rank in _ranks_on(found, name):
            told = run_or_raise(
                link, end_of_rank_log(folder, rank, MAX_RANK_LOG_BYTES), f"reading what rank {rank} said"
            ).out
            if len(told) == MAX_RANK_LOG_BYTES:
                told = told.partition(b"\n")[2]
            yield from (Line(raw, rank, name) for raw in _raw_lines([told]))


def _ranks_on(found: FoundJob, name: str) -> list[int]:
    from hvdocker.jobs.log.rank_logs import list_rank_logs, read_rank_logs
    from hvdocker.transport.link import run_or_raise

    link: HostLink = found.observed.links[name]
    listed = run_or_raise(link, list_rank_logs(found.observed.folder(name, found.job)), "looking for the ranks' logs")
    return read_rank_logs(listed.text)


def _raw_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    assembler = LineAssembler()
    for chunk in chunks:
        yield from assembler.feed(chunk)
    yield from assembler.flush()


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
