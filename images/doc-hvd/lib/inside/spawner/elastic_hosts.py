"""Decides which hosts an elastic job uses now, and when it has ended or failed. Pure."""

from collections.abc import Sequence

from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.torchrun import limited_hosts

# A program that failed on a host may have failed because the host is going down. Its loss would show within this time.
LOSS_DELAY_S = 3.0
# A lost host is used again after the list of hosts has changed and still names it, or after this time.
RETRY_S = 15.0


class ElasticHosts:
    """The hosts of an elastic job. `job` has the bounds `min_np` and `max_np`. `timeout_s` is how long the job waits
    while it has too few slots. `code` is the exit code once the job is over (`is_over`), else None. Times are those of
    one clock, in seconds."""

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
        self._has_succeeded = False
        self._short_since: float | None = None

    @property
    def is_over(self) -> bool:
        return self.code is not None

    @property
    def running(self) -> set[str]:
        """The hosts whose program runs and is not being ended."""
        return self._running - self._ending

    def change(self, listed: Sequence[JobHost], version: int, now: float) -> tuple[list[JobHost], list[str]]:
        """Return the hosts on which the program is to be started now, and the names of those on which it is to be
        ended. `listed` are the hosts that can take part. `version` is a number that changes with this list. Also end
        the job (set `code`) if a program has failed, or if there were too few slots for `timeout_s`."""
        self._version = version
        given_up = self._give_up_unlisted({host.name for host in listed})
        if self.is_over or self._is_failed(now):
            return [], []
        self._lost = {
            host: (when, old) for host, (when, old) in self._lost.items() if old == version and now < when + RETRY_S
        }
        usable = limited_hosts(self._job, [host for host in listed if host.name not in self._lost])
        self._note_shortage(bool(usable), now)
        wanted = {host.name: host for host in usable}
        started = [] if self._has_succeeded else [host for name, host in wanted.items() if name not in self._running]
        ended = sorted(given_up if self._has_succeeded else self.running - set(wanted))
        self._running |= {host.name for host in started}
        self._ending |= set(ended)
        return started, ended

    def end(self, host: str, code: int, now: float) -> None:
        """Note that the program on `host` has ended with exit code `code`. The job has succeeded when the programs on
        all hosts have ended with 0."""
        if host in self._ending:
            return
        if code:
            self._failed.setdefault(host, (code, now))
            return
        self._running.discard(host)
        self._has_succeeded = True
        if not self._running and not self._failed:
            self.code = 0

    def close(self, host: str) -> None:
        """Note that the connection to `host`, which the spawner ended, is closed."""
        self._running.discard(host)
        self._ending.discard(host)
        if self._has_succeeded and not self._running and not self._failed:
            self.code = 0

    def lose(self, host: str, now: float) -> bool:
        """Note that the connection to `host` broke; return whether the host was in use. If it is the head, the job has
        failed."""
        was_running, was_over = host in self._running, self.is_over
        self._failed.pop(host, None)
        self.close(host)
        self._lost[host] = (now, self._version)
        if host == self._job.host and not was_over:
            self.code = 255
        return was_running

    def due(self) -> float | None:
        """Return the time at which `change` has to be called at the latest, to decide about a failed program or about
        too few slots; None if there is nothing to decide."""
        times = [when + LOSS_DELAY_S for _code, when in self._failed.values()]
        times += [self._short_since + self._timeout_s] if self._short_since is not None else []
        return None if self.is_over else min(times, default=None)

    def _give_up_unlisted(self, listed: set[str]) -> set[str]:
        """Forget the failures on hosts that are no longer `listed`: the job goes on without these hosts. Return the
        hosts; their connections are to be ended."""
        given_up = self._failed.keys() - listed
        for host in given_up:
            del self._failed[host]
        return given_up

    def _is_failed(self, now: float) -> bool:
        """End the job (set `code`) if a program failed at least LOSS_DELAY_S ago. Return whether the job is over."""
        late = [code for code, when in self._failed.values() if now >= when + LOSS_DELAY_S]
        if late:
            self.code = late[-1]
        return self.is_over

    def _note_shortage(self, is_enough: bool, now: float) -> None:
        if is_enough:
            self._short_since = None
        elif self._short_since is None:
            self._short_since = now
        elif now >= self._short_since + self._timeout_s:
            self.code = 1
