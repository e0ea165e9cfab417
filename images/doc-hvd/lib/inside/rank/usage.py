"""Measures the CPU time and memory of a rank's processes."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from inside.runtime.processes import PROC, Process, session_and_descendants, threads

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Background threads of a framework that never rest use less than this, and are never main threads. So the busiest side
# threads do not count as work, unless they use more.
MAX_CYCLE_CORES = 0.5


class Usage(NamedTuple):
    """CPU time and memory of a rank's processes. `cpu_s` is all CPU time in seconds. `work_s` leaves out threads that
    may be background threads of the framework, so it hardly grows while a rank only waits. `rss_kb` is the resident
    memory in KiB. The field names are keys of the heartbeat, the rank's regular message to the supervisor."""

    cpu_s: float
    work_s: float
    rss_kb: int


class UsageMeter:
    """Measures the processes of a rank; `leader` is the process id of its command. `busy_threads` is the number of
    background threads of its framework that never rest. CPU time never decreases: the time of a process that ended
    without being waited for is remembered. Otherwise the sum would fall, and new work would not show until the old sum
    was reached again. `proc` is the folder /proc; `clock` returns the time in seconds."""

    def __init__(
        self, leader: int, busy_threads: int, proc: Path = PROC, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._leader = leader
        self._busy_threads = busy_threads
        self._proc = proc
        self._clock = clock
        self._read_at = clock()
        self._last = self._lost = self._reaped = self._work = 0
        self._threads: dict[int, int] = {}

    def read(self) -> Usage:
        """Return the CPU time that the rank has used so far, and its current memory."""
        members = session_and_descendants(self._leader, self._proc)
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
        """Return the CPU ticks that the rank's processes (`members`) have used since the last reading. Threads that may
        be background threads of the framework are left out."""
        now = {thread.pid: thread.ticks for process in members for thread in threads(process.pid, self._proc)}
        used = {tid: max(0, ticks - self._threads.get(tid, 0)) for tid, ticks in now.items()}
        reaped, before = sum(process.reaped_ticks for process in members), self._reaped
        read_at = self._read_at
        self._threads, self._reaped, self._read_at = now, reaped, self._clock()
        most = MAX_CYCLE_CORES * (self._read_at - read_at) * TICKS_PER_S
        others = sorted((used[tid] for tid in used.keys() - {one.pid for one in members}), reverse=True)
        cycle = sum(ticks for ticks in others[: self._busy_threads] if ticks <= most)
        return sum(used.values()) - cycle + max(0, reaped - before)
