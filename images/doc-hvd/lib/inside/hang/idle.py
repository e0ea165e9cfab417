"""Measures how long all ranks of a job have been silent and idle, from their lines and their heartbeats (regular
messages with the CPU time that a rank has used and the bytes that it has written so far). Pure: opens nothing."""

from hvdocker.protocol.marks import Mark
from inside.launchers.launcher import StallReader

# A rank that uses less than this share of a core between two beats counts as idle.
IDLE_CORES = 0.05
# Beats that arrive closer together were delayed on their way, so the time between them says nothing.
MIN_BEAT_GAP_S = 0.2

BeatKey = tuple[int, str]


class IdleTimer:
    """Measures how long no rank has written or worked. `since` is the time at which this silence began. `stalls` reads
    the framework's own warnings that ranks are missing (stall warnings), which are no sign of work. Callers pass the
    time as `now`, always from the same clock."""

    def __init__(self, now: float, stalls: StallReader) -> None:
        self.since = now
        self._stalls = stalls
        self._stall_bytes: dict[int, int] = {}
        self._said: dict[BeatKey, int] = {}
        self._worked: dict[BeatKey, tuple[float, float]] = {}

    @property
    def missing(self) -> set[int]:
        """The ranks that the framework waits for, as its last stall warning says."""
        return self._stalls.missing

    def end(self, now: float) -> None:
        """End the silence: set `since` to `now` and clear `missing`. Called when a rank is at work, or when the
        silence has a known reason and is no hang."""
        self.since = now
        self.missing.clear()

    def note_line(self, rank: int, line: str, now: float) -> None:
        """Note a line that a rank wrote at time `now`. The line resets the timer, unless it belongs to a
        stall warning."""
        if self._stalls.is_stall(rank, line):
            self._stall_bytes[rank] = self._stall_bytes.get(rank, 0) + len(line.encode()) + 1
        else:
            self.end(now)

    def start(self, mark: Mark) -> None:
        """Note that a rank starts (`mark` is its message). If it has run before, its counts of CPU time and bytes begin
        again at 0."""
        rank, host = mark.get("rank"), mark.get("host")
        if isinstance(rank, int) and isinstance(host, str):
            self._stall_bytes.pop(rank, None)
            self._said.pop((rank, host), None)
            self._worked.pop((rank, host), None)

    def beat(self, mark: Mark, now: float) -> None:
        """Note a heartbeat: `mark`, a message of a rank with the CPU time that it has used and the bytes that it has
        written so far. Reset the timer to `now` if the rank has written or worked since its last heartbeat. A message
        without these values is ignored."""
        try:
            key = (int(mark["rank"]), str(mark["host"]))
            # `work_s` is CPU time without background threads that never rest. A mark without it has only `cpu_s`.
            work_s = float(mark["work_s"] if "work_s" in mark else mark["cpu_s"])
            said = int(mark["out_bytes"])
        except (KeyError, TypeError, ValueError):
            return
        if self._has_said(key, said) | self._has_worked(key, work_s, now):
            self.end(now)

    def _has_said(self, key: BeatKey, said: int) -> bool:
        """Return whether the rank has written more since its last heartbeat. `key` is the rank and its host, `said` the
        number of bytes that the rank has written so far. Unfinished lines count; stall warnings do not. The highest
        count so far is kept, because a heartbeat may arrive before the stall warning whose bytes it includes."""
        own = said - self._stall_bytes.get(key[0], 0)
        before = self._said.get(key)
        self._said[key] = max(own, before or 0)
        return before is not None and own > before

    def _has_worked(self, key: BeatKey, work_s: float, now: float) -> bool:
        then, before = self._worked.get(key, (now, work_s))
        if key in self._worked and now - then < MIN_BEAT_GAP_S:
            return False
        self._worked[key] = (now, work_s)
        return work_s - before > 0 and work_s - before >= IDLE_CORES * (now - then)
