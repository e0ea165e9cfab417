"""A started job in front of a person: its lines to the end, Ctrl-C as its stop, and a link that may break."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, Interrupted
from hvdocker.inventory.locate import Located
from hvdocker.jobs import job_container
from hvdocker.jobs.fetch import save_log
from hvdocker.jobs.head_loss import Head, head_was_down, judge_head
from hvdocker.jobs.orphan_ranks import Leftover, interrupted
from hvdocker.jobs.outcome import JobEnd
from hvdocker.jobs.reconnect import Reconnect
from hvdocker.jobs.secrets.plan import ORDERLY
from hvdocker.protocol.job import JobSpec
from hvdocker.protocol.output import Line
from hvdocker.transport.session import Session

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

T = TypeVar("T")
LINES_KEPT = 10


@dataclass
class JobFollower:
    """By host, `folders` are the job's, and `workers` the containers with its ranks, but for the head's.
    `clear` is what is left to do when it ended as it should not. `last` has the last lines of each rank."""

    env: Env
    located: Located
    session: Session
    job: JobSpec
    folders: Mapping[str, str]
    workers: Mapping[str, str]
    on_line: job_container.OnLine
    stopping: Callable[[], None]
    clear: Callable[[JobEnd], None]
    last: dict[int, tuple[str, ...]] = field(default_factory=dict, init=False)

    def to_the_end(self) -> JobEnd:
        relink = self._relink()
        try:
            job_container.follow(self._link, self._container, self.job.placement, self._keep, again=relink)
        except KeyboardInterrupt:
            raise self.interrupted() from None
        end = self._steady(relink, lambda link: job_container.end_of(link, self._container))
        if end.was_cut_off:
            restarts = end.record.restarts if end.record else 0
            raise head_was_down(self.job.placement.head, self.job.endurance.first_restart + restarts)
        self.clear(end)
        self._steady(relink, self._save_log)
        self._find_last_words(end)
        return end

    def interrupted(self) -> Interrupted:
        """Once: gracefully. Twice: at once, on all hosts."""
        try:
            missed = self._stop()
            self._save_log(self._link)
        except HostUnreachable as error:
            raise self._relink().adrift(error) from None
        return interrupted(self.job.job, self.located.flag, missed)

    def _stop(self) -> Mapping[str, str]:
        """A supervisor that was killed leaves ranks elsewhere to their grace; tells by host why that could
        not be helped."""
        try:
            # Who reads that may press Ctrl-C again at once.
            self.stopping()
            job_container.stop_job(self._link, self._container)
        except KeyboardInterrupt:
            job_container.stop_job(self._link, self._container, at_once=True)
        end = job_container.end_of(self._link, self._container)
        left = Leftover(self.job.job, self.workers, self.session.links)
        missed = {} if end.exit_code in ORDERLY else left.end_at_once()
        self.clear(end)
        return missed

    @property
    def _link(self) -> HostLink:
        return self.session.links[self.job.placement.head]

    @property
    def _container(self) -> str:
        return names.master_name(self.located.inventory.cluster, self.job.job)

    def _relink(self) -> Reconnect:
        job, name = self.job, self.job.placement.head
        head = Head(job.job, name, job.addresses[name], job.port, self.folders)
        judge = partial(judge_head, self.env, self.located, head)
        return Reconnect(self.env, self.located, self.session, job.job, name, judge)

    def _keep(self, line: Line) -> None:
        if line.rank is not None and line.text.strip():
            self.last[line.rank] = (*self.last.get(line.rank, ())[1 - LINES_KEPT :], line.text)
        self.on_line(line)

    def _steady(self, relink: Reconnect, work: Callable[[HostLink], T]) -> T:
        try:
            return work(self._link)
        except HostUnreachable as error:
            return work(relink(error))

    def _save_log(self, link: HostLink) -> None:
        save_log(self.located, self.job.job, link, self._container)

    def _find_last_words(self, end: JobEnd) -> None:
        """Of the rank that failed, where none were seen."""
        first = end.record.first_failure if end.record else None
        if first and first.rank not in self.last:
            self.last[first.rank] = job_container.last_lines(
                self._link, self._container, self.job.placement, first.rank, LINES_KEPT
            )
