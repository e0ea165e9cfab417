"""How long all ranks of a run have been silent and idle, from their lines and beats."""

import re

from inside.protocol.marks import Mark

# A rank that uses less than this share of a core between two beats counts as idle.
IDLE_CORES = 0.05
# Beats that arrive closer together were held up on their way: they tell nothing of the time between them.
CLOSEST_BEATS_S = 0.2
# Horovod itself complains of a stall every minute, through its first rank: that is no sign of life.
STALL_BEGINS = re.compile(r"stall_inspector\.cc:\d+\]")
STALL_HEAD = "Missing ranks:"
STALL_RANK = re.compile(r"(\d+)!?: \[.*")
STALL_ENDS = "One or more rank (marked by"

Key = tuple[int, str]


class IdleTimer:
    """`since` is when something was last heard, on the clock of whoever calls."""

    def __init__(self, now: float) -> None:
        self.since = now
        # Whom Horovod waits for, by its own words.
        self.missing: set[int] = set()
        self._stalled: set[int] = set()
        self._stall_bytes: dict[int, int] = {}
        self._said: dict[Key, int] = {}
        self._worked: dict[Key, tuple[float, float]] = {}

    def end(self, now: float) -> None:
        """Something happened."""
        self.since = now
        self.missing.clear()

    def hear(self, rank: int, line: str, now: float) -> None:
        """A line of a rank."""
        if self._is_stall(rank, line):
            self._stall_bytes[rank] = self._stall_bytes.get(rank, 0) + len(line.encode()) + 1
        else:
            self.end(now)

    def beat(self, mark: Mark, now: float) -> None:
        """The beat of a rank: what it has used and written so far."""
        try:
            key = (int(mark["rank"]), str(mark["host"]))
            # Without Horovod's own cycle, which never rests, where the rank can tell them apart.
            work_s = float(mark["work_s"] if "work_s" in mark else mark["cpu_s"])
            said = int(mark["out_bytes"])
        except (KeyError, TypeError, ValueError):
            return
        if self._has_said(key, said) | self._has_worked(key, work_s, now):
            self.end(now)

    def _has_said(self, key: Key, said: int) -> bool:
        """Also parts of a line count. A beat may overtake a complaint of Horovod's: hence the most so far."""
        own = said - self._stall_bytes.get(key[0], 0)
        before = self._said.get(key)
        self._said[key] = max(own, before or 0)
        return before is not None and own > before

    def _has_worked(self, key: Key, work_s: float, now: float) -> bool:
        then, before = self._worked.get(key, (now, work_s))
        if key in self._worked and now - then < CLOSEST_BEATS_S:
            return False
        self._worked[key] = (now, work_s)
        return work_s - before > 0 and work_s - before >= IDLE_CORES * (now - then)

    def _is_stall(self, rank: int, line: str) -> bool:
        if STALL_BEGINS.search(line):
            self._stalled.add(rank)
            return True
        if rank not in self._stalled:
            return False
        named = STALL_RANK.fullmatch(line)
        if line.startswith(STALL_HEAD):
            self.missing.clear()
            return True
        if named:
            self.missing.add(int(named[1]))
            return True
        self._stalled.discard(rank)
        return line.startswith(STALL_ENDS)
