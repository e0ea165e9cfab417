"""Follow a job that `train` started: show its lines to the end, stop it on Ctrl-C, replace a broken link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, HvdockerError, Interrupted
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs import job_container
from hvdocker.jobs.head_loss import JobHead, diagnose_head, head_was_down
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.log.reconnect import Reconnect
from hvdocker.jobs.log.save import LOG_FILE, save_log
from hvdocker.jobs.orphan_ranks import OrphanRanks, interrupted_error
from hvdocker.jobs.outcome import JobEnd
from hvdocker.jobs.secrets.plan import CLEAN_EXIT_CODES
from hvdocker.protocol.output import Line
from hvdocker.protocol.record import JobRecord
from hvdocker.transport.session import Session

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

T = TypeVar("T")
LAST_LINES_PER_RANK = 10


@dataclass
class JobFollower:
    """Follows a job that `train` started.

    `folders` has the path of the job's folder by host. `workers` has the worker container by host, without the head,
    whose ranks run in the master. `on_line` gets every line of output. `stopping` is called when Ctrl-C begins to
    stop the job. `clean_up` is called with the end of the job, and removes secrets that a killed supervisor left.
    `last_lines` collects the last lines of output by rank."""

    env: Env
    located: Located
    session: Session
    job: JobSpec
    folders: Mapping[str, str]
    workers: Mapping[str, str]
    on_line: job_container.OnLine
    stopping: Callable[[], None]
    clean_up: Callable[[JobEnd], None]
    last_lines: dict[int, tuple[str, ...]] = field(default_factory=dict, init=False)

    def follow_to_end(self) -> JobEnd:
        """Show the job's output until it ends, save its log, and return how it ended.

        Raises Interrupted if Ctrl-C stopped the job, and HeadLost if the head is lost."""
        reconnect = self._reconnect()
        try:
            job_container.follow_lines(
                self._link,
                self._container,
                self.job.placement,
                self._show_line,
                again=reconnect,
                launcher=self.job.launcher.name,
            )
        except KeyboardInterrupt:
            raise self.stop_on_ctrl_c() from None
        end = self._with_reconnect(reconnect, self._read_end)
        if end.head_went_down:
            restarts = end.record.restarts if end.record else 0
            raise head_was_down(self.job.placement.head, self.job.resilience.first_restart + restarts)
        self.clean_up(end)
        # Each read of a file in a container that has ended takes the engine a twentieth of a second.
        self._with_reconnect(reconnect, partial(self._save_log, record=end.record))
        self._find_last_lines(end)
        return end

    def stop_on_ctrl_c(self) -> Interrupted:
        """Stop the job after Ctrl-C, save its log, and return the Interrupted error that the caller has to raise.

        This first Ctrl-C stops the job gracefully. If the user presses Ctrl-C once more meanwhile, the job is killed at
        once on all hosts. Raises HostUnreachable if the head cannot be reached: then the job may go on."""
        try:
            missed = self._stop()
            self._save_log(self._link)
        except HostUnreachable as error:
            raise self._reconnect().with_follow_hint(error) from None
        return interrupted_error(self.job.job, self.located.flag, missed)

    def _stop(self) -> Mapping[str, str]:
        """Stop the job gracefully, or kill it if the user presses Ctrl-C again. Return the hosts on which ranks may be
        left, each with the reason; empty if none are.

        A killed supervisor cannot end the ranks on other hosts. In that case they are ended from the controller."""
        try:
            # Inside the try: a user who sees the message of `stopping` may press Ctrl-C again at once.
            self.stopping()
            job_container.stop_job(self._link, self._container)
        except KeyboardInterrupt:
            job_container.stop_job(self._link, self._container, at_once=True)
        end = self._read_end(self._link)
        left = OrphanRanks(self.job.job, self.workers, self.session.links)
        missed = {} if end.exit_code in CLEAN_EXIT_CODES else left.end_at_once()
        self.clean_up(end)
        return missed

    @property
    def _link(self) -> HostLink:
        return self.session.links[self.job.placement.head]

    @property
    def _container(self) -> str:
        return names.master_name(self.located.inventory.cluster, self.job.job)

    def _read_end(self, link: HostLink) -> JobEnd:
        return job_container.read_job_end(link, self._container, self.folders[self.job.placement.head])

    def _reconnect(self) -> Reconnect:
        job, name = self.job, self.job.placement.head
        head = JobHead(job.job, name, job.addresses[name], job.port, self.folders)
        judge = partial(diagnose_head, self.env, self.located, head)
        return Reconnect(self.env, self.located, self.session, job.job, name, judge)

    def _show_line(self, line: Line) -> None:
        if line.rank is not None and line.text.strip() and not line.is_state:
            self.last_lines[line.rank] = (*self.last_lines.get(line.rank, ())[1 - LAST_LINES_PER_RANK :], line.text)
        self.on_line(line)

    def _with_reconnect(self, reconnect: Reconnect, work: Callable[[HostLink], T]) -> T:
        """Call `work` with the link to the head and return its result. If the link breaks, reconnect and call it once
        more."""
        try:
            return work(self._link)
        except HostUnreachable as error:
            return work(reconnect(error))

    def _save_log(self, link: HostLink, record: JobRecord | None = None) -> None:
        """Save the job's output on the controller. `record` is the job's record if it was read already. If the output
        cannot be read or written, send only a note, because this does not change how the job ended. Only errors with an
        exit code of their own, such as HostUnreachable, are raised."""
        try:
            saved = save_log(self.located, self.job.job, link, self._container, record)
        except (OSError, HvdockerError) as error:
            if isinstance(error, HvdockerError) and error.exit_code != HvdockerError.exit_code:
                raise
            self.env.listener(Event("note", f"the output of {self.job.job} is not saved here: {error}"))
            return
        if saved.missing:
            self.env.listener(Event("note", f"{self.located.jobs / self.job.job / 'logs' / LOG_FILE}: {saved.missing}"))

    def _find_last_lines(self, end: JobEnd) -> None:
        """Add the last lines of the rank that failed first to `last_lines`, if no line of this rank was seen while
        the job was followed."""
        first = end.record.first_failure if end.record else None
        if first and first.rank not in self.last_lines:
            self.last_lines[first.rank] = job_container.last_lines_of_rank(
                self._link,
                self._container,
                self.job.placement,
                first.rank,
                LAST_LINES_PER_RANK,
                self.job.launcher.name,
            )
