"""Read and follow the log of a job's master container, read its record, and stop it, through the engine of its
host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.errors import CommandTimeout
from hvdocker.jobs.log.stream import LogReader, ReopenLink
from hvdocker.jobs.outcome import JobEnd
from hvdocker.launchers import named
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.protocol.job_file import STOP_S
from hvdocker.protocol.output import Line, LineAssembler, parse_line, settle_states, without_states
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.record import RECORD_FILE, JobRecord
from hvdocker.shell import host_folders

if TYPE_CHECKING:
    from docker import APIClient

    from hvdocker.transport.link import HostLink

OnLine = Callable[[Line], None]

# How many last lines of the whole job are searched for the last lines of one rank.
LOOK_BACK_LINES = 2000
_READ_COPY_S = 10.0


def newest_masters(state: ClusterState) -> dict[str, ContainerSeen]:
    """Return one master for every job, by job id, newest first. If `state` has two masters of a job, return the running
    one, or the newest if none runs.

    A job has two masters if it lost its head, was restarted on other hosts under the same id, and the first head is
    back."""
    found: dict[str, ContainerSeen] = {}
    for master in state.masters():
        kept = found.get(master.job)
        if kept is None or (master.is_living and not kept.is_living):
            found[master.job] = master
    return found


@dataclass
class LineCount:
    """Counts the lines of a log while the log is read. It counts newlines, so each state of a progress bar that is
    followed by a newline counts too."""

    lines: int = 0

    def pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of a log unchanged, and count their lines."""
        for piece in pieces:
            self.lines += piece.count(b"\n")
            yield piece


def read_lines(
    link: HostLink,
    container: str,
    placement: Placement,
    follow: bool = True,
    tail: int | None = None,
    since: float | None = None,
    skip: int = 0,
    count: LineCount | None = None,
    launcher: str = "",
) -> Iterator[Line]:
    """Yield the lines of the job's output, which is the log of the master `container`. `placement` says on which host
    each rank is, so that each Line names its host.

    With `follow` go on until the job ends. With `tail` begin with that many last lines; None means all. With
    `since`, a Unix time of the host's clock, leave out older lines. Then leave out the first `skip` lines, where
    every state of a progress bar counts as a line. Of each progress bar in the remaining lines, yield only the final
    state. `count` counts the lines that the engine sends. `launcher` is the name of the job's launcher: its `filter`
    removes lines that it wrote itself and that say nothing new."""
    lines = islice(_all_lines(link, container, placement, follow, tail, since, count or LineCount()), skip, None)
    return named(launcher).filter(without_states(lines))


def _all_lines(
    link: HostLink,
    container: str,
    placement: Placement,
    follow: bool,
    tail: int | None,
    since: float | None,
    count: LineCount,
) -> Iterator[Line]:
    from hvdocker.engine.container_errors import translating_container_errors

    with translating_container_errors(link, container, "reading the job's output"):
        stream = link.engine().logs(
            container, stream=True, follow=follow, tail=tail if tail is not None else "all", since=since
        )
        yield from _parsed(count.pieces(stream), placement)


def _parsed(pieces: Iterable[bytes], placement: Placement) -> Iterator[Line]:
    host_of_rank = placement.host_of_rank()
    assembler = LineAssembler()
    for piece in pieces:
        for raw in assembler.feed(piece):
            yield parse_line(raw, host_of_rank)
    for raw in assembler.flush():
        yield parse_line(raw, host_of_rank)


def follow_lines(
    link: HostLink,
    container: str,
    placement: Placement,
    on_line: OnLine,
    tail: int | None = None,
    since: float | None = None,
    skip: int = 0,
    again: ReopenLink | None = None,
    count: LineCount | None = None,
    launcher: str = "",
) -> HostLink:
    """Pass every line of the job's output (the log of the master `container`) to `on_line`, exactly once, until the job
    ends. Return the link used last. The states of progress bars are passed too, and the final one once more as a plain
    line.

    `placement` says on which host each rank is. `tail` is the number of last lines with which to begin, None for all.
    With `since`, a Unix time of the host's clock, older lines are left out. Then the first `skip` lines are left out.
    `count` counts the lines that the engine sends, each once. `launcher` is the name of the job's launcher: its
    `filter` removes lines that it wrote itself and that say nothing new. If the link breaks, `again` returns a new
    link; without `again` a broken link raises HostUnreachable."""
    reading = LogReader(link, container, lambda now: is_running(now, container), again, tail, since)
    lines = islice(_parsed((count or LineCount()).pieces(reading.pieces()), placement), skip, None)
    for line in named(launcher).filter(settle_states(lines)):
        on_line(line)
    return reading.link


def last_lines_of_rank(
    link: HostLink, container: str, placement: Placement, rank: int, count: int = 10, launcher: str = ""
) -> tuple[str, ...]:
    """Return up to `count` last lines of a rank, without empty lines. Only the last LOOK_BACK_LINES lines of the log of
    the master `container` are searched, so the result may be empty. `placement` says on which host each rank is.
    `launcher` is the name of the job's launcher."""
    said = [
        line.text
        for line in read_lines(link, container, placement, follow=False, tail=LOOK_BACK_LINES, launcher=launcher)
        if line.rank == rank and line.text.strip()
    ]
    return tuple(said[-count:])


def read_job_end(link: HostLink, container: str, folder: str = "") -> JobEnd:
    """Return how the job ended, from the state of its master `container` and record.json.

    A container that still runs is given 60 s to end; after that HostUnreachable is raised. Raises JobStopped if the
    container was removed. `folder` is the job's folder on this host, empty if unknown. If it is known, the copy of
    record.json there is read first, because this is faster than reading the file in the container."""
    from hvdocker.engine import archive
    from hvdocker.engine.container_errors import container_gone_error, is_container_gone, translating_container_errors

    with translating_container_errors(link, container, "reading the job's record"):
        engine: APIClient = link.engine()
        state = engine.inspect_container(container)["State"]
        if state["Running"]:
            engine.wait(container, timeout=60)
            state = engine.inspect_container(container)["State"]
        code, was_oom_killed = int(state["ExitCode"]), bool(state.get("OOMKilled"))
        if folder and (copy := _record_on_host(link, folder, container, code)):
            return JobEnd(copy, code, was_oom_killed)
        text = archive.read_text(engine, container, f"{names.CONTAINER_FOLDER}/{RECORD_FILE}")
        if text is None and is_container_gone(link, container):
            raise container_gone_error(link.name)
    return JobEnd(JobRecord.read(text) if text else None, code, was_oom_killed)


def _record_on_host(link: HostLink, folder: str, container: str, code: int) -> JobRecord | None:
    """Return the copy of the record in the job's folder on the host. Return None if it cannot be read or is not the
    final record of the master `container`, which ended with exit code `code`: a write to a full disk may have
    failed, or the file system of the home hangs."""
    try:
        result = link.run(host_folders.read_file(f"{folder}/logs/{RECORD_FILE}"), timeout_s=_READ_COPY_S)
    except CommandTimeout:
        return None
    record = JobRecord.read(result.text) if result.code == 0 else None
    is_final = record is not None and record.code == code and container.endswith(f"-{record.job}")
    return record if is_final else None


def stop_job(link: HostLink, container: str, at_once: bool = False) -> None:
    """Stop the job of the master `container`: send SIGTERM to its supervisor, which then ends every rank on every host.
    Send SIGKILL if the supervisor has not ended after STOP_S seconds.

    With `at_once` send SIGKILL immediately. Then the supervisor cannot end the ranks on other hosts, and the caller has
    to do so (OrphanRanks)."""
    from docker.errors import APIError

    from hvdocker.engine.container_errors import translating_container_errors

    with translating_container_errors(link, container, "stopping the job"):
        if at_once:
            try:
                link.engine().kill(container)
            except APIError as error:
                if error.status_code != 409:  # 409: the container has ended meanwhile
                    raise
        else:
            link.engine().stop(container, timeout=STOP_S)


def is_running(link: HostLink, container: str) -> bool:
    from hvdocker.engine.container_errors import translating_container_errors

    with translating_container_errors(link, container, "looking at the job"):
        return bool(link.engine().inspect_container(container)["State"]["Running"])
