"""Decides which hosts an elastic job uses now, and when it has ended or failed. Pure."""

from collections.abc import Sequence

from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.torchrun import limited_hosts

# A program that failed on a host may have failed because the host is going down. Its loss would show within this time.
LOSS_DELAY_S = 3.0
# A lost host is used again after the list of hosts has changed and still names it, or after this time.
RETRY_S = 15.0


class ElasticHosts:
    """The hosts of an elastic job. `job` has the smallest and largest number of slots. `timeout_s` is how long the job
    waits for hosts. `code` is the exit code once the job is over (`is_over`). All times are in seconds, from the same
    clock."""

    def __init__(self, job: Job, timeout_s: float) -> None:
        self.code: int | None = None
        self._job = job
        self._timeout_s = timeout_s
        self._running: set[str] = set()
        self._ending: set[str] = set()
        # When each lost host was lost, and which version the list had then.
        self._lost: dict[str, tuple[float, int]] = {}
        self._version = 0
        self._failed: dict[str, tuple[int, float]] = {}
        # Hosts whose program failed and that left the list then; their connections are to be closed.
        self._left: set[str] = set()
        # Hosts whose program failed without ever having had ranks.
        self._too_late: set[str] = set()
        self._has_succeeded = False
        self._short_since: float | None = None

    @property
    def is_over(self) -> bool:
        return self.code is not None

    @property
    def running(self) -> set[str]:
        """The hosts whose program runs and is not being ended."""
        return self._running - self._ending

    def update(self, listed: Sequence[JobHost], version: int, now: float) -> tuple[list[JobHost], list[str]]:
        """Return two lists: the hosts on which the program has to be started now, and the names of those on which it
        has to be ended. `listed` are the hosts that can take part. `version` is a number that changes whenever the list
        of hosts changes."""
        self._version = version
        if self.is_over or self._is_failed(listed, now):
            return [], []
        self._lost = {
            host: (when, old) for host, (when, old) in self._lost.items() if old == version and now < when + RETRY_S
        }
        usable = limited_hosts(self._job, [host for host in listed if host.name not in self._lost])
        self._note_shortage(bool(usable), now)
        wanted = {host.name: host for host in usable}
        started = [] if self._has_succeeded else [host for name, host in wanted.items() if name not in self._running]
        ended = sorted(self.running & self._left if self._has_succeeded else self.running - set(wanted))
        self._left.clear()
        self._running |= {host.name for host in started}
        self._ending |= set(ended)
        return started, ended

    def end(self, host: str, code: int, now: float, had_ranks: bool = True) -> None:
        """Note that the program on `host` has ended with exit code `code`. The job has succeeded when a program has
        succeeded and no other program runs or has failed. `had_ranks` is False if the program never had ranks. Such a
        failure does not count if the job succeeds: the host joined when the programs on the other hosts were about to
        end, so its program found no peers."""
        if host in self._ending:
            return
        if code:
            self._failed.setdefault(host, (code, now))
        else:
            self._running.discard(host)
            self._has_succeeded = True
        if code and not had_ranks and host != self._job.host:
            self._too_late.add(host)
        for late in self._too_late if self._has_succeeded else ():
            self._failed.pop(late, None)
            self._running.discard(late)
        self._end_if_all_have()

    def note_closed(self, host: str) -> None:
        """Note that the connection to `host` is closed, because the program there was to be ended. If the programs on
        other hosts have succeeded meanwhile, this may end the job."""
        self._running.discard(host)
        self._ending.discard(host)
        self._too_late.discard(host)
        self._end_if_all_have()

    def lose(self, host: str, now: float) -> bool:
        """Note that the connection to `host` broke; return whether its program was running. If the host is the head,
        the job has failed."""
        was_running, was_over = host in self._running, self.is_over
        self._failed.pop(host, None)
        self.note_closed(host)
        self._lost[host] = (now, self._version)
        if host == self._job.host and not was_over:
            self.code = 255
        return was_running

    def due(self) -> float | None:
        """Return the time at which `update` has to be called at the latest: it then decides whether a failure, or a
        wait for hosts, ends the job. None if there is neither."""
        times = [when + LOSS_DELAY_S for _code, when in self._failed.values()]
        times += [self._short_since + self._timeout_s] if self._short_since is not None else []
        return None if self.is_over else min(times, default=None)

    def _is_failed(self, listed: Sequence[JobHost], now: float) -> bool:
        """Return whether the job is over. If a program failed at least LOSS_DELAY_S ago on a host that is still listed,
        set `code`: the job is over. A failure on a host that has left the list does not count: such a host is treated
        like any other that left."""
        names = {host.name for host in listed}
        for host, (code, when) in tuple(self._failed.items()):
            if host not in names:
                self._failed.pop(host)
                self._left.add(host)
            elif now >= when + LOSS_DELAY_S:
                self.code = code
        return self.is_over

    def _end_if_all_have(self) -> None:
        if self._has_succeeded and not self._running and not self._failed and not self.is_over:
            self.code = 0

    def _note_shortage(self, is_enough: bool, now: float) -> None:
        if is_enough:
            self._short_since = None
        elif self._short_since is None:
            self._short_since = now
        elif now >= self._short_since + self._timeout_s:
            self.code = 1
