"""What the ranks of one run have reported, in the order in which it came: their clocks may differ."""

import signal
from collections.abc import Mapping
from typing import Any

from inside.markers import Mark

Key = tuple[int, str | None]


class Ledger:
    """Ranks are told apart by number and host: under Horovod Elastic a new process may get the number that an
    older one on another host was started with."""

    def __init__(self, expected: Mapping[int, str] | None = None) -> None:
        # Where ranks will be, as far as that is known: a line may overtake the mark of its rank's start.
        self._expected = expected or {}
        self._ranks: dict[Key, Mark] = {}
        self._exits: list[Mark] = []
        self._followers: set[int] = set()
        self._living: dict[Key, None] = {}

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
        elif event == "rank-exit":
            self._exits.append(words)
            known = self._ranks.get(key, words)
            # Else another process has the number by now, and this one ended late.
            if words.get("started", known.get("started")) == known.get("started"):
                self._ranks[key] = {**known, **words}
                self._living.pop(key, None)

    def lose(self, host: str) -> None:
        """The host is gone, and its ranks with it; nobody is left to report their end."""
        for key in [key for key in self._living if key[1] == host]:
            del self._living[key]

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

    def first_failure(self) -> Mark | None:
        """Of the exits with a code the one that arrived first; before those who only followed another's end,
        or were ended for it. Reports from several hosts may overtake each other."""
        failed = [mark for mark in self._exits if mark.get("code")]
        return min(failed, key=self._is_consequence, default=None)

    def _is_consequence(self, mark: Mark) -> bool:
        return mark["rank"] in self._followers or mark.get("signal") == signal.SIGTERM
