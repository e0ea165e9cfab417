"""What the ranks of one run have reported, in the order in which it came: their clocks may differ."""

import signal
from collections.abc import Mapping
from typing import Any

from inside.protocol.marks import Mark

LONG_AGO = float("-inf")
SSH_FAILED = 255
# From an exception to the end of its rank, which may first take its leave of all others.
CRY_S = 60.0

Key = tuple[int, str | None]


class RankStates:
    """Ranks are told apart by number and host: under Horovod Elastic a new process may get the number that an
    older one on another host was started with."""

    def __init__(self, expected: Mapping[int, str] | None = None, first_np: int | None = None) -> None:
        # Where ranks will be, as far as that is known: a line may overtake the mark of its rank's start.
        self._expected = expected or {}
        # How many ranks an elastic job begins with: what starts after them starts anew. None if not elastic.
        self._first_np = first_np
        self._starts = 0
        self._ranks: dict[Key, Mark] = {}
        self._exits: list[Mark] = []
        self._followers: set[int] = set()
        self._cries: dict[int, float] = {}
        self._living: dict[Key, None] = {}
        self._lost: dict[str, float] = {}
        self._dropped: set[str] = set()
        self._missed: int | None = None

    def add(self, mark: Mark) -> None:
        """Note one mark; a rank that starts again begins a new line."""
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
            # Else another process has the number by now, and this one ended late.
            if words.get("started", known.get("started")) == known.get("started"):
                self._ranks[key] = {**known, **words}
                self._living.pop(key, None)

    def _begin(self, host: str) -> None:
        """Ranks that start anew tell that the job has survived whatever befell it before. One of the first
        that is slow to start tells nothing: another one may have failed at once."""
        self._starts += 1
        self._lost.pop(host, None)
        if self._first_np is not None and self._starts > self._first_np and (self._exits or self._lost):
            self._exits.clear()
            self._followers.clear()
            self._lost = dict.fromkeys(self._lost, LONG_AGO)

    def lose(self, host: str, now: float = 0.0) -> None:
        """The host is gone, and its ranks with it; nobody is left to report their end."""
        for key in [key for key in self._living if key[1] == host]:
            del self._living[key]
        self._lost.setdefault(host, now)

    def drop(self, host: str) -> None:
        """The job goes on without the host: what failed there is not what the job ends of."""
        self._dropped.add(host)

    def lost_before(self, moment: float) -> set[str]:
        """The hosts that were gone by then, or before ranks started anew, and had no rank since."""
        return {host for host, when in self._lost.items() if when < moment}

    def ranks(self) -> list[Mark]:
        """The last word of every rank that started, by rank."""
        return [self._ranks[key] for key in sorted(self._ranks, key=lambda key: key[0])]

    def ranks_on(self, host: str) -> list[int]:
        """The numbers of the ranks that were started there."""
        return sorted(rank for rank, where in self._ranks if where == host)

    def hosts(self) -> list[str]:
        """Where ranks were started."""
        return list(dict.fromkeys(str(host) for _rank, host in self._ranks if host is not None))

    def living(self) -> list[tuple[int, str]]:
        """Number and host of every rank whose end was not reported."""
        return sorted((rank, str(host)) for rank, host in self._living if host is not None)

    def host_of(self, rank: int) -> str | None:
        """Where a rank is, by its last start; None where two ranks answer to the number."""
        living = [host for number, host in self._living if number == rank]
        known = living or [host for number, host in self._ranks if number == rank][-1:]
        return known[0] if len(known) == 1 else None if known else self._expected.get(rank)

    def follow(self, rank: int) -> None:
        """By its own words this rank fails because another one did."""
        self._followers.add(rank)

    def cry(self, rank: int, now: float) -> None:
        """By its own words this rank raises an exception, of whatever kind."""
        self._cries[rank] = now

    def suspect(self, now: float) -> Key | None:
        """A rank that raised just now and never told how it ended, where those that did only followed
        another: they were faster, and the launcher hung up on it."""
        first = self.first_failure()
        if first is None or first["rank"] not in self._followers:
            return None
        crying = {rank for rank, when in self._cries.items() if now - when < CRY_S} - self._followers
        return next((key for key in self._living if key[0] in crying), None)

    def is_of_this_start(self, end: Mark) -> bool:
        """Whether somebody's word of a rank's end is about the process that was started last."""
        known = self._ranks.get((end.get("rank"), end.get("host")))  # type: ignore[arg-type]  # foreign words
        return known is not None and known.get("started") == end.get("started")

    def miss(self, rank: int, code: int) -> None:
        """For the launcher this rank was the first to fail, and with that code. If it did not tell so itself,
        its wrapper was killed, or its whole host is gone: then the code is ssh's own."""
        host = next((host for number, host in self._living if number == rank), None)
        if host is None:
            return
        if code == SSH_FAILED:
            self._missed = rank
        else:
            number = code - 128 if code > 128 else None
            self.add({"event": "rank-exit", "rank": rank, "host": host, "code": code, "signal": number})

    def vanished(self) -> str | None:
        """The host of that rank, where it never told how it ended, and nobody else failed by itself."""
        first = self.first_failure()
        if self._missed is None or (first is not None and not self.is_consequence(first)):
            return None
        return next((host for rank, host in self._living if rank == self._missed), None)

    def first_failure(self) -> Mark | None:
        """Of the exits with a code the one that arrived first; before those who only followed another's end,
        or were ended for it. Reports from several hosts may overtake each other."""
        failed = [mark for mark in self._exits if mark.get("code")]
        return min(failed, key=self.is_consequence, default=None)

    def fails_by_itself(self, mark: Mark) -> bool:
        """Whether this end of a rank is the first failure, and no other's."""
        first = self.first_failure()
        if first is None or self.is_consequence(first):
            return False
        return first == {name: value for name, value in mark.items() if name != "event"}

    def is_consequence(self, mark: Mark) -> bool:
        """Whether a rank ended so because another one did, or nothing that the job has not got over: a host
        that was dropped is out."""
        is_asked = bool(mark.get("asked")) or mark.get("signal") == signal.SIGTERM
        return is_asked or mark["rank"] in self._followers or mark.get("host") in self._dropped
