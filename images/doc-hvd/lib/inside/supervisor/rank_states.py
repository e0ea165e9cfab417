"""What the ranks of one run have reported, and which of them failed first. Reports are ordered by their
arrival, because the clocks of hosts may differ. Pure: opens nothing."""

import signal
from collections.abc import Mapping
from typing import Any

from inside.protocol.marks import Mark

LONG_AGO = float("-inf")
SSH_FAILED = 255
# From an exception to the end of its rank. In between the rank may wait for all other ranks, in Horovod's
# shutdown.
EXCEPTION_TO_EXIT_S = 60.0

RankKey = tuple[int, str | None]


class RankStates:
    """The marks of one run. A rank is identified by number and host: under Horovod Elastic a new process may
    get the number with which an older process on another host was started."""

    def __init__(self, expected: Mapping[int, str] | None = None, first_np: int | None = None) -> None:
        # Where ranks will be, if known: a line of a rank may arrive before the mark of its start.
        self._expected = expected or {}
        # How many ranks an elastic job begins with; later starts are restarts. None if the job is not
        # elastic.
        self._first_np = first_np
        self._starts = 0
        self._ranks: dict[RankKey, Mark] = {}
        self._exits: list[Mark] = []
        self._followers: set[int] = set()
        self._cries: dict[int, float] = {}
        self._living: dict[RankKey, None] = {}
        self._lost: dict[str, float] = {}
        self._dropped: set[str] = set()
        self._missed: int | None = None

    def add(self, mark: Mark) -> None:
        """Note one mark. A rank that starts again replaces its earlier state."""
        event, rank = mark.get("event"), mark.get("rank")
        if not isinstance(rank, int):
            return
        key = (rank, mark.get("host"))
        words = {name: value for name, value in mark.items() if name != "event"}
        if event == "rank-start":
            ended: dict[str, Any] = {"code": None, "signal": None, "seconds": None}  # Any: JSON
            self._ranks[key] = {**words, **ended, "max_rss_kb": None, "finished": None}
            self._living.pop(key, None)
            self._living[key] = None
            self._begin(str(mark.get("host")))
        elif event == "rank-exit":
            self._exits.append(words)
            known = self._ranks.get(key, words)
            # Otherwise a newer process has this number, and an older one ended late.
            if words.get("started", known.get("started")) == known.get("started"):
                self._ranks[key] = {**known, **words}
                self._living.pop(key, None)

    def _begin(self, host: str) -> None:
        """Note the start of a rank. A start beyond the first `first_np` ranks of an elastic job shows that
        the job has survived all earlier exits and losses, so these are cleared. A slow start among the first
        ranks shows nothing: another of them may have failed at once."""
        self._starts += 1
        self._lost.pop(host, None)
        if self._first_np is not None and self._starts > self._first_np and (self._exits or self._lost):
            self._exits.clear()
            self._followers.clear()
            self._lost = dict.fromkeys(self._lost, LONG_AGO)

    def lose(self, host: str, now: float = 0.0) -> None:
        """Note that a host is gone at time `now`. Its ranks cannot report their end any more."""
        for key in [key for key in self._living if key[1] == host]:
            del self._living[key]
        self._lost.setdefault(host, now)

    def drop(self, host: str) -> None:
        """Note that the job goes on without a host. Failures on it are no longer a cause of the job's
        failure."""
        self._dropped.add(host)

    def lost_before(self, moment: float) -> set[str]:
        """Return the hosts that were lost before `moment` or before a later start of ranks, and have had no
        rank since."""
        return {host for host, when in self._lost.items() if when < moment}

    def ranks(self) -> list[Mark]:
        """Return the latest state of every rank that started, ordered by rank."""
        return [self._ranks[key] for key in sorted(self._ranks, key=lambda key: key[0])]

    def ranks_on(self, host: str) -> list[int]:
        """Return the numbers of the ranks that were started on a host."""
        return sorted(rank for rank, where in self._ranks if where == host)

    def hosts(self) -> list[str]:
        """Return the hosts on which ranks were started."""
        return list(dict.fromkeys(str(host) for _rank, host in self._ranks if host is not None))

    def living(self) -> list[tuple[int, str]]:
        """Return number and host of every rank that has not reported its end."""
        return sorted((rank, str(host)) for rank, host in self._living if host is not None)

    def host_of(self, rank: int) -> str | None:
        """Return the host of a rank, by its last start or else by the placement. None if it is unknown, or if
        two processes have that number."""
        living = [host for number, host in self._living if number == rank]
        known = living or [host for number, host in self._ranks if number == rank][-1:]
        return known[0] if len(known) == 1 else None if known else self._expected.get(rank)

    def note_consequence(self, rank: int) -> None:
        """Note that, by its own output, this rank fails because another rank failed."""
        self._followers.add(rank)

    def note_exception(self, rank: int, now: float) -> None:
        """Note that, by its own output, this rank raised an exception of any kind."""
        self._cries[rank] = now

    def suspected_cause(self, now: float) -> RankKey | None:
        """Return a rank that raised an exception recently but never reported its end, if every reported
        failure is only a consequence of another. Its peers ended faster, and the launcher closed its
        connection. None if there is no such rank."""
        first = self.first_failure()
        if first is None or first["rank"] not in self._followers:
            return None
        crying = {rank for rank, when in self._cries.items() if now - when < EXCEPTION_TO_EXIT_S} - self._followers
        return next((key for key in self._living if key[0] in crying), None)

    def is_of_this_start(self, end: Mark) -> bool:
        """Return whether a record of a rank's end belongs to the process that was started last."""
        known = self._ranks.get((end.get("rank"), end.get("host")))  # type: ignore[arg-type]  # foreign words
        return known is not None and known.get("started") == end.get("started")

    def note_first_failed(self, rank: int, code: int) -> None:
        """Note that the launcher names this rank as the first that failed, with this code. If the rank has
        not reported its own end, either its wrapper was killed, or its host is gone and the code is ssh's own
        (255)."""
        host = next((host for number, host in self._living if number == rank), None)
        if host is None:
            return
        if code == SSH_FAILED:
            self._missed = rank
        else:
            number = code - 128 if code > 128 else None
            self.add({"event": "rank-exit", "rank": rank, "host": host, "code": code, "signal": number})

    def vanished_host(self) -> str | None:
        """Return the host of the rank that the launcher named with ssh's own code, if that rank never
        reported its end and no other rank failed by itself; else None."""
        first = self.first_failure()
        if self._missed is None or (first is not None and not self.is_consequence(first)):
            return None
        return next((host for rank, host in self._living if rank == self._missed), None)

    def first_failure(self) -> Mark | None:
        """Return the mark of the rank that failed first, by arrival; None if none failed. Ranks that failed
        as a consequence of another, or were ended because of it, come last: marks from several hosts may
        overtake each other."""
        failed = [mark for mark in self._exits if mark.get("code")]
        return min(failed, key=self.is_consequence, default=None)

    def is_root_failure(self, mark: Mark) -> bool:
        """Return whether this exit is the first failure of the run, and was not caused by another rank's."""
        first = self.first_failure()
        if first is None or self.is_consequence(first):
            return False
        return first == {name: value for name, value in mark.items() if name != "event"}

    def is_consequence(self, mark: Mark) -> bool:
        """Return whether a rank ended because another did, because it was asked to end, or on a host that was
        dropped since: the job goes on without that host."""
        is_asked = bool(mark.get("asked")) or mark.get("signal") == signal.SIGTERM
        return is_asked or mark["rank"] in self._followers or mark.get("host") in self._dropped
