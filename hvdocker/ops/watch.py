"""Following a job: its lines as they come, and its record at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from hvdocker.errors import HvdockerError
from hvdocker.model import names
from hvdocker.model.job import JobRecord
from hvdocker.model.noise import without_noise
from hvdocker.model.output import Line, LineAssembler, parse_line
from hvdocker.model.placement import Placement, from_label
from hvdocker.model.seen import ClusterState, ContainerSeen

if TYPE_CHECKING:
    from docker import APIClient

    from hvdocker.hosts.link import HostLink

OnLine = Callable[[Line], None]


@dataclass(frozen=True)
class JobEnd:
    record: JobRecord | None
    exit_code: int
    was_oom_killed: bool = False

    @property
    def state(self) -> str:
        if self.record:
            return self.record.state
        return "succeeded" if self.exit_code == 0 else "failed"


def find_job(state: ClusterState, wanted: str | None) -> ContainerSeen:
    masters = newest_masters(state)
    return masters[names.match_job(wanted, list(masters))]


def newest_masters(state: ClusterState) -> dict[str, ContainerSeen]:
    """By job, newest first. A job that was placed anew has two, once the host of the first is back."""
    found: dict[str, ContainerSeen] = {}
    for master in state.masters():
        found.setdefault(master.job, master)
    return found


def placement_of(master: ContainerSeen) -> Placement:
    return from_label(master.labels.get(names.LABEL_PLACEMENT, "{}"))


def lines(
    link: HostLink,
    container: str,
    placement: Placement,
    follow: bool = True,
    tail: int | None = None,
    since: float | None = None,
    skip: int = 0,
) -> Iterator[Line]:
    """The master's log is the job's output. Ends when the job does. `since` is a time of the host's clock;
    the first `skip` lines after it are left out."""
    return without_noise(islice(_all_lines(link, container, placement, follow, tail, since), skip, None))


def _all_lines(
    link: HostLink,
    container: str,
    placement: Placement,
    follow: bool,
    tail: int | None,
    since: float | None,
) -> Iterator[Line]:
    from hvdocker.hosts.translate import talking

    host_of_rank = placement.host_of_rank()
    assembler = LineAssembler()
    with talking(link.name, "reading the job's output"):
        stream = link.engine().logs(
            container, stream=True, follow=follow, tail=tail if tail is not None else "all", since=since
        )
        for chunk in stream:
            for raw in assembler.feed(chunk):
                yield parse_line(raw, host_of_rank)
        for raw in assembler.flush():
            yield parse_line(raw, host_of_rank)


def follow(
    link: HostLink,
    container: str,
    placement: Placement,
    on_line: OnLine,
    tail: int | None = None,
    since: float | None = None,
    skip: int = 0,
) -> None:
    """An engine may end a log stream early (its own restart): while the job runs, go on from there. Raises
    where the host is gone."""
    seen = 0
    while True:
        for number, line in enumerate(lines(link, container, placement, True, tail, since, skip)):
            if number >= seen:
                on_line(line)
                seen += 1
        if not is_running(link, container):
            return


def end_of(link: HostLink, container: str) -> JobEnd:
    from hvdocker.hosts import archive
    from hvdocker.hosts.translate import talking

    with talking(link.name, "reading the job's record"):
        engine: APIClient = link.engine()
        state = engine.inspect_container(container)["State"]
        if state["Running"]:
            engine.wait(container, timeout=60)
            state = engine.inspect_container(container)["State"]
        text = archive.read_text(engine, container, f"{names.IN_CONTAINER}/record.json")
    record = JobRecord.read(text) if text else None
    return JobEnd(record, int(state["ExitCode"]), bool(state.get("OOMKilled")))


def stop_job(link: HostLink, container: str, at_once: bool = False) -> None:
    """SIGTERM to the supervisor, which ends every rank on every host; SIGKILL after its grace."""
    from hvdocker.hosts.translate import talking

    with talking(link.name, "stopping the job"):
        if at_once:
            link.engine().kill(container)
        else:
            link.engine().stop(container, timeout=20)


def is_running(link: HostLink, container: str) -> bool:
    from docker.errors import NotFound

    from hvdocker.hosts.translate import talking

    with talking(link.name, "looking at the job"):
        try:
            return bool(link.engine().inspect_container(container)["State"]["Running"])
        except NotFound as error:
            raise HvdockerError("the job's container is gone", host=link.name) from error
