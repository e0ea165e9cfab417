"""What the processes of a rank have used so far."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from inside.runtime.processes import PROC, Process, family, threads

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Horovod's own cycle takes two threads, never a main one, and up to a third of a core, also where nothing
# goes on.
CYCLE_THREADS = 2
CYCLE_AT_MOST = 0.5


class Usage(NamedTuple):
    """`cpu_s` is all processor time; `work_s` is without that of threads that may be Horovod's cycle: a rank
    that only waits has next to none of it."""

    cpu_s: float
    work_s: float
    rss_kb: int


class UsageMeter:
    """Reads what a rank's processes have used. No time goes back: what a process used for whose end nobody of
    the rank waited is remembered, or new work would not be seen until it has caught up."""

    def __init__(self, leader: int, proc: Path = PROC, clock: Callable[[], float] = time.monotonic) -> None:
        self._leader = leader
        self._proc = proc
        self._clock = clock
        self._read_at = clock()
        self._last = self._lost = self._reaped = self._work = 0
        self._threads: dict[int, int] = {}

    def read(self) -> Usage:
        """The usage up to now."""
        members = family(self._leader, self._proc)
        total = sum(process.ticks + process.reaped_ticks for process in members)
        self._lost += max(0, self._last - total)
        self._last = total
        self._work += self._worked(members)
        pages = sum(process.rss_pages for process in members)
        return Usage(
            cpu_s=round((total + self._lost) / TICKS_PER_S, 2),
            work_s=round(self._work / TICKS_PER_S, 2),
            rss_kb=pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        )

    def _worked(self, members: Sequence[Process]) -> int:
        """The ticks since the last reading that cannot be Horovod's cycle."""
        now = {thread.pid: thread.ticks for process in members for thread in threads(process.pid, self._proc)}
        used = {tid: max(0, ticks - self._threads.get(tid, 0)) for tid, ticks in now.items()}
        reaped, before = sum(process.reaped_ticks for process in members), self._reaped
        read_at = self._read_at
        self._threads, self._reaped, self._read_at = now, reaped, self._clock()
        most = CYCLE_AT_MOST * (self._read_at - read_at) * TICKS_PER_S
        others = sorted((used[tid] for tid in used.keys() - {one.pid for one in members}), reverse=True)
        cycle = sum(ticks for ticks in others[:CYCLE_THREADS] if ticks <= most)
        return sum(used.values()) - cycle + max(0, reaped - before)
