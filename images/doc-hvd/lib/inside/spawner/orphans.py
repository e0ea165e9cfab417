"""Ends the processes that lost their parent and became children of this process."""

import os
import signal
import time
from contextlib import suppress

from inside.runtime.processes import processes

POLL_S = 0.05
# How long after SIGKILL to wait for a process that is stuck in the kernel.
UNKILLABLE_WAIT_S = 5.0


class Orphans:
    """Ends orphans: processes that became children of this process, their subreaper, when their own parents ended. Each
    orphan gets SIGTERM when it is first seen, and SIGKILL `grace_s` after the first call of `tick`. Use this only when
    this process has no other children, because they would be ended too. `are_gone` says that no orphan is left, or that
    the remaining ones cannot be killed."""

    def __init__(self, grace_s: float) -> None:
        self.are_gone = False
        self._grace_s = grace_s
        self._since: float | None = None
        self._asked: set[int] = set()

    def due(self) -> float | None:
        return time.monotonic() + POLL_S if self._since is not None and not self.are_gone else None

    def tick(self) -> None:
        """Look for orphans. Send SIGTERM to those that are new, and SIGKILL to all once `grace_s` is over."""
        now = time.monotonic()
        self._since = self._since or now
        late_s = now - self._since - self._grace_s
        left = living_children()
        self.are_gone = not left or late_s > UNKILLABLE_WAIT_S
        for pid in left if late_s >= 0 else left - self._asked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late_s >= 0 else signal.SIGTERM)
        self._asked |= left


def living_children() -> set[int]:
    """Return the children of this process that still run, and reap those that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    own = os.getpid()
    return {process.pid for process in processes() if process.parent == own}
