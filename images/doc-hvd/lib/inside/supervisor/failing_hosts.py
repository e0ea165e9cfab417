"""Drops a host from an elastic job if its ranks fail three times in a row, each time within a minute of their start.
The launcher itself would use such a host again and again, without limit and without a message. The head cannot be
dropped. If its ranks fail in this way, the run of the launcher is ended."""

from collections.abc import Callable

from hvdocker.protocol.marks import Mark
from hvdocker.protocol.record import DroppedHost
from inside.runtime.say import say
from inside.supervisor.restarts import describe_exit

# A rank that ran this long did not fail because of the host that it was started on.
QUICK_FAILURE_S = 60.0
MAX_QUICK_FAILURES = 3
FAILED_REPEATEDLY = "a rank failed {} times in a row within a minute of its start (last: {})"


class FailingHosts:
    """Counts quick failures in a row on each host: ranks that failed within a minute of their start. After
    MAX_QUICK_FAILURES the host is added to `dropped`, and `drop` is called with its name. The head is added to
    `dropped` too, but `drop` is not called for it."""

    def __init__(self, head: str, drop: Callable[[str], None]) -> None:
        self.dropped: dict[str, DroppedHost] = {}
        self._head = head
        self._drop = drop
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """Reset all counts for a new run of the launcher. Dropped hosts stay out."""
        self._counts.clear()

    def reset(self, host: str) -> None:
        """Reset the failure count of a host. Called when a rank ran long enough there, or when the host left the job:
        it may come back repaired, or as another machine."""
        self._counts.pop(host, None)

    def note_exit(self, mark: Mark, is_own: bool) -> bool:
        """Note the end of a rank, which `mark` (its message to the supervisor) reports. `is_own` says that the rank was
        the first that failed, and that it failed neither because of another rank nor because it was asked to end.
        Return True if ranks on the head have failed too often, so that the run of the launcher has to be ended;
        otherwise False."""
        host = str(mark.get("host"))
        if (mark.get("seconds") or 0) >= QUICK_FAILURE_S:
            self.reset(host)
        elif is_own and (host == self._head or host not in self.dropped):
            self._counts[host] = self._counts.get(host, 0) + 1
            if self._counts[host] >= MAX_QUICK_FAILURES:
                return self._drop_or_give_up(host, describe_exit(mark))
        return False

    def _drop_or_give_up(self, host: str, how: str) -> bool:
        """Drop a host on which ranks failed too often, and tell the user. Return False for such a host. The head is
        only added to `dropped`, because a job cannot run without it; return True for the head. `how` says how the last
        rank on the host ended."""
        times, is_head = self._counts.pop(host), host == self._head
        self.dropped[host] = DroppedHost(host, times, how, "end" if is_head else "drop")
        again = FAILED_REPEATEDLY.format(times, how)
        if is_head:
            say(f"{host}, the head, cannot be dropped, and {again}: ending the run")
        else:
            say(f"{host} is dropped from the job: {again}")
            self._drop(host)
        return is_head
