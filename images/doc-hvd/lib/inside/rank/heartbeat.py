"""The heartbeat of a rank: a mark (a message to the supervisor) at regular intervals, with the CPU time, memory
and output bytes of the rank so far."""

import time
from collections.abc import Callable

from hvdocker.protocol.marks import Mark, encode_mark
from hvdocker.protocol.rank_messages import RankWho, beat_mark
from inside.rank.relay import Relay
from inside.rank.usage import UsageMeter

# The interval is a quarter of the silence that counts as a hang, within these bounds.
MIN_BEAT_S, MAX_BEAT_S = 0.5, 5.0


class Heartbeat:
    """Sends a heartbeat mark (a message to the supervisor) every `every_s` seconds over one of the two output streams
    (each has one of the `relays`). A mark goes between two lines of output. If both streams stay in the middle of a
    line for a whole interval, the mark is sent there all the same, because a silent rank must still show that it lives.
    `who` says which rank it is, `meter` measures its CPU time and memory."""

    def __init__(
        self,
        who: RankWho,
        meter: UsageMeter,
        relays: tuple[Relay, ...],
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._who = who
        self._meter = meter
        self._relays = relays
        self._every_s = every_s
        self._clock = clock
        self._due = self._look_at = clock() + every_s

    def wait_ms(self) -> int:
        """Return how many milliseconds a poll may wait before `tick` has to be called."""
        return max(0, int((self._look_at - self._clock()) * 1000) + 1)

    def tick(self) -> None:
        """Send the heartbeat if it is due and one of the output streams can take it. A stream can take it if it has
        nothing left to write and is between two lines. When the heartbeat is a whole interval late, a stream in the
        middle of a line can take it too. If no stream can, the caller has to call `tick` again after `wait_ms`
        milliseconds."""
        now = self._clock()
        if now < self._due:
            return
        late = self._due + self._every_s
        relay = self._free_relay(is_late=now >= late)
        if relay is None:
            self._look_at = late if now < late else now + self._every_s
            return
        relay.insert(encode_mark(self._mark()))
        self._due = self._look_at = now + self._every_s

    def _free_relay(self, is_late: bool) -> Relay | None:
        free = [relay for relay in self._relays if not relay.is_writing]
        between = [relay for relay in free if relay.is_between_lines]
        return next(iter(between or (free if is_late else ())), None)

    def _mark(self) -> Mark:
        written = sum(relay.read_bytes for relay in self._relays)
        usage = self._meter.read()
        return beat_mark(self._who, usage.cpu_s, usage.work_s, usage.rss_kb, written)


def beat_interval_s(hang_after_s: float) -> float:
    """Return the seconds between two heartbeats of a rank: a quarter of `hang_after_s` (the silence that counts as a
    hang), but at least MIN_BEAT_S and at most MAX_BEAT_S. If `hang_after_s` is 0 (hang detection is off), return
    MAX_BEAT_S."""
    return min(max(hang_after_s / 4, MIN_BEAT_S), MAX_BEAT_S) if hang_after_s > 0 else MAX_BEAT_S
