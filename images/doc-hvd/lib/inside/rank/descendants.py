"""Ends the processes that a command started in other sessions. The rank wrapper is their subreaper: when the parent of
such a process ends, the process becomes a child of the rank wrapper."""

import os
import signal
import time
from contextlib import suppress

from inside.runtime.processes import processes

PR_SET_CHILD_SUBREAPER = 36  # from linux/prctl.h
POLL_S = 0.05
# How long after SIGKILL to wait for a process that is stuck in the kernel.
UNKILLABLE_WAIT_S = 5.0


def become_subreaper() -> None:
    """Make this process a subreaper: processes below it that lose their parent become its children, not those of the
    container's first process. An error is ignored."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans(command: int) -> None:
    """Reap the children of this process that have ended, but never the rank's command: `Child.reap` has to read its
    exit status. `command` is the process id of the command (0: there is none). If the command itself is found among the
    ended children, this function returns at once; other ended children may then be left."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == command:
            return
        os.waitpid(ended.si_pid, 0)


def end_children(grace_s: float) -> None:
    """End every child of this process, including orphans that become its children during the call. Each child gets
    SIGTERM, and SIGKILL after `grace_s` seconds (0: SIGKILL at once). Returns when all are gone, but at the latest
    UNKILLABLE_WAIT_S after the first SIGKILL."""
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    while left := _children():
        late_s = time.monotonic() - deadline
        if late_s > UNKILLABLE_WAIT_S:
            return
        for pid in left if late_s >= 0 else left - asked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL if late_s >= 0 else signal.SIGTERM)
        asked |= left
        time.sleep(POLL_S)


def _children() -> set[int]:
    reap_orphans(0)
    own = os.getpid()
    return {process.pid for process in processes() if process.parent == own}
