"""Keeps what the ranks of one run of the launcher have reported, and finds the rank that failed first.
Reports are ordered by their arrival, because the clocks of hosts may differ. Pure: opens nothing."""

import signal
from collections.abc import Mapping
from typing import Any

from hvdocker.protocol.marks import Mark
from hvdocker.protocol.rank_messages import RANK_EXIT, RANK_START

LONG_AGO = float("-inf")
SSH_FAILED = 255
# The longest time from an exception to the end of the rank that raised it. In between, the rank may wait for
# all other ranks in the shutdown of its framework.
EXCEPTION_TO_EXIT_S = 60.0

RankKey = tuple[int, str | None]


class RankStates:
    """The states of the ranks of one run of the launcher, from their marks (JSON messages that report the start and the
    exit of a rank). A rank is identified by number and host, because in an elastic job a new process may get the
    number with which an older process on another host was started. `expected`: the planned host of each rank.
    `first_np`: how many ranks the run begins with; None if ranks never start again."""

    def __init__(self, expected: Mapping[int, str] | None = None, first_np: int | None = None) -> None:
        # The planned host of each rank, if known. It is needed for a line that arrives before the start mark of
        # its rank.
        self._expected = expected or {}
        # How many ranks the run begins with; later starts are restarts. None if ranks never start again.
        self._first_np = first_np
        self._starts = 0
        self._ranks: dict[RankKey, Mark] = {}
        self._exits: list[Mark] = []
        self._consequence_ranks: set[int] = set()
        self._exception_times: dict[int, float] = {}
        self._living: dict[RankKey, None] = {}
        self._lost: dict[str, float] = {}
        self._dropped: set[str] = set()
        self._ssh_failed_rank: int | None = None

    def add(self, mark: Mark) -> None:
        """Update the state of a rank from `mark`, the message that reports the start or the end of the rank. A rank
        that starts again replaces its earlier state. Messages of other kinds, or without a rank, are ignored."""
        event, rank = mark.get("event"), mark.get("rank")
        if not isinstance(rank, int):
            return
        key = (rank, mark.get("host"))
        words = {name: value for name, value in mark.items() if name != "event"}
        if event == RANK_START:
            ended: dict[str, Any] = {"code": None, "signal": None, "seconds": None}  # Any: JSON
            self._ranks[key] = {**words, **ended, "max_rss_kb": None, "finished": None}
            self._living.pop(key, None)
            self._living[key] = None
            self._begin(str(mark.get("host")))
        elif event == RANK_EXIT:
            self._exits.append(words)
            known = self._ranks.get(key, words)
            # If the start times differ, this is the late exit of an older process: a newer process has its number.
            if words.get("started", known.get("started")) == known.get("started"):
                self._ranks[key] = {**known, **words}
                self._living.pop(key, None)

    def _begin(self, host: str) -> None:
        """Note that a rank has started on `host`. The run begins with `first_np` starts. A later start shows that the
        job has survived all exits and lost hosts so far, so these no longer count as the cause of a later failure. One
        of the first `first_np` starts does not show this, even if it comes late, because another of these ranks may
        have failed at once."""
        self._starts += 1
        self._lost.pop(host, None)
        if self._first_np is not None and self._starts > self._first_np and (self._exits or self._lost):
            self._exits.clear()
            self._consequence_ranks.clear()
            self._lost = dict.fromkeys(self._lost, LONG_AGO)

    def lose(self, host: str, now: float = 0.0) -> None:
        """Note that a host is gone at time `now` (`time.monotonic`). Its ranks cannot report their end any more, so
        they no longer count as living."""
        for key in [key for key in self._living if key[1] == host]:
            del self._living[key]
        self._lost.setdefault(host, now)

    def drop(self, host: str) -> None:
        """Note that the job goes on without a host that was dropped. Failures on it no longer count as the cause of
        the job's failure."""
        self._dropped.add(host)

    def lost_before(self, moment: float) -> set[str]:
        """Return the hosts that were lost before time `moment` (`time.monotonic`). Add all lost hosts whose loss the
        job has survived, as later starts of ranks show. Leave out hosts on which a rank has started since their
        loss."""
        return {host for host, when in self._lost.items() if when < moment}

    def ranks(self) -> list[Mark]:
        """Return the latest state of every rank that started, ordered by rank, for record.json. A state has the keys of
        the rank's marks (messages that report its start and end); keys about its end are None while it runs."""
        return [self._ranks[key] for key in sorted(self._ranks, key=lambda key: key[0])]

    def ranks_on(self, host: str) -> list[int]:
        """Return the numbers of the ranks that were started on a host."""
        return sorted(rank for rank, where in self._ranks if where == host)

    def hosts(self) -> list[str]:
        """Return the hosts on which ranks were started."""
        return list(dict.fromkeys(str(host) for _rank, host in self._ranks if host is not None))

    def living(self) -> list[tuple[int, str]]:
        """Return number and host of every rank that has started and has not reported its end. Ranks on lost hosts are
        left out."""
        return sorted((rank, str(host)) for rank, host in self._living if host is not None)

    def host_of(self, rank: int) -> str | None:
        """Return the host of a rank: that of the running process with this number, else that of an ended
        process, else the planned host. Return None if the host is unknown, or if two running processes have
        this number."""
        living = [host for number, host in self._living if number == rank]
        known = living or [host for number, host in self._ranks if number == rank][-1:]
        return known[0] if len(known) == 1 else None if known else self._expected.get(rank)

    def note_consequence(self, rank: int) -> None:
        """Note that this rank fails because another rank failed, as its own output or the output of the launcher shows.
        Such a rank counts as the first failure only if no other rank failed by itself."""
        self._consequence_ranks.add(rank)

    def note_exception(self, rank: int, now: float) -> None:
        """Note that the output of this rank showed an exception (of any kind) at time `now` (`time.monotonic`).
        `suspected_cause` and `ended_after_exception` need this time."""
        self._exception_times[rank] = now

    def suspected_cause(self, now: float) -> RankKey | None:
        """Return number and host of the rank that probably caused the failure but never reported its end; None if there
        is no such rank. This rank raised an exception less than EXCEPTION_TO_EXIT_S before `now` (`time.monotonic`). In
        addition, every reported failure must be only a consequence of another failure, and the first of them must have
        been noted by `note_consequence`.

        This happens if the other ranks end sooner and the launcher then closes the connection of the rank that raised
        the exception."""
        first = self.first_failure()
        if first is None or first["rank"] not in self._consequence_ranks:
            return None
        raised = self._raised_by_itself(now)
        return next((key for key in self._living if key[0] in raised), None)

    def ended_after_exception(self, now: float) -> Mark | None:
        """Return the exit mark of the rank that probably caused the failure, although it ended because it was asked to;
        None if there is no such rank. This rank raised an exception less than EXCEPTION_TO_EXIT_S before `now`
        (`time.monotonic`). In addition, every reported failure must be only a consequence of another failure.

        This happens if the other ranks end sooner, and the launcher then ends the rank that raised the exception while
        it still shuts down."""
        first = self.first_failure()
        if first is None or not self.is_consequence(first):
            return None
        raised = self._raised_by_itself(now)
        return next((mark for mark in self._exits if mark.get("asked") and mark["rank"] in raised), None)

    def _raised_by_itself(self, now: float) -> set[int]:
        recent = {rank for rank, when in self._exception_times.items() if now - when < EXCEPTION_TO_EXIT_S}
        return recent - self._consequence_ranks

    def is_of_this_start(self, end: Mark) -> bool:
        """Return whether `end`, the record of a rank's end, belongs to the process that was started last under this
        rank number on this host. It may also be left from an older process."""
        known = self._ranks.get((end.get("rank"), end.get("host")))  # type: ignore[arg-type]  # values from JSON
        return known is not None and known.get("started") == end.get("started")

    def note_failed(self, rank: int, code: int) -> None:
        """Note that the launcher names this rank as failed, with exit code `code`. This is ignored if the rank has not
        started or has reported its end. Code 255, which is ssh's own, means that the host of the rank may be gone (see
        `vanished_host`). Any other code means that the rank wrapper was killed, and is noted as the rank's exit
        code."""
        host = next((host for number, host in self._living if number == rank), None)
        if host is None:
            return
        if code == SSH_FAILED:
            self._ssh_failed_rank = rank
        else:
            number = code - 128 if code > 128 else None
            self.add({"event": RANK_EXIT, "rank": rank, "host": host, "code": code, "signal": number})

    def vanished_host(self) -> str | None:
        """Return the host of the rank that the launcher named as failed with ssh's own exit code 255. Return None if
        there is no such rank, if this rank has reported its end, or if another rank failed by itself."""
        first = self.first_failure()
        if self._ssh_failed_rank is None or (first is not None and not self.is_consequence(first)):
            return None
        return next((host for rank, host in self._living if rank == self._ssh_failed_rank), None)

    def first_failure(self) -> Mark | None:
        """Return the exit mark (the message that reports the end) of the rank that failed first; None if no rank
        failed. The first is the one whose mark arrived first. A failure that is a consequence (see `is_consequence`) is
        returned only if there is no other failure, because marks from several hosts may overtake each other."""
        failed = [mark for mark in self._exits if mark.get("code")]
        return min(failed, key=self.is_consequence, default=None)

    def is_root_failure(self, mark: Mark) -> bool:
        """Return whether `mark` is the first failure of this run of the launcher and no consequence of another failure.
        `mark` is the message that reports a rank's end; it must have been passed to `add` before."""
        first = self.first_failure()
        if first is None or self.is_consequence(first):
            return False
        return first == {name: value for name, value in mark.items() if name != "event"}

    def is_consequence(self, mark: Mark) -> bool:
        """Return whether a rank's exit is only a consequence, not the cause of the job's failure. `mark` is the message
        that reports the exit. It is a consequence if the rank failed because another rank failed, if the rank was asked
        to end, or if its host was dropped and the job goes on without that host."""
        is_asked = bool(mark.get("asked")) or mark.get("signal") == signal.SIGTERM
        return is_asked or mark["rank"] in self._consequence_ranks or mark.get("host") in self._dropped
