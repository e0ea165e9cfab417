"""What is measured: candidates that do the same work, and the rows of the table that compare two of them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

from bench.testbed import Testbed

# After how many rounds a benchmark looks whether its rows are decided. Each look may be wrong by chance, so there are
# few: see `bench.measure.ERROR`. With four looks, eight is the smallest number of rounds that can decide a row.
LOOKS = (8, 12, 16, 20)
# The word of `ROWS` for the benchmarks that take the least time.
QUICK = "quick"

Verdict = Literal["met", "missed", "undecided"]
# Returns None if its own duration is the measure; otherwise the measure, in megabytes or samples per second.
Work = Callable[[], float | None]


def do_nothing() -> None:
    """The default of `Candidate.before`: most candidates need no preparation before a round."""


def timed_call(function: Callable[..., object], *arguments: Any, **named: Any) -> Work:
    """Return a Work that calls the function and drops its result, so that the duration is the measure."""

    def work() -> None:
        function(*arguments, **named)

    return work


@dataclass(frozen=True)
class Candidate:
    """One of the programs that are compared. `before` runs, unmeasured, before each `work`."""

    work: Work
    before: Callable[[], None] = do_nothing


@dataclass(frozen=True)
class Bar:
    """The limit that a ratio (or, in a row without a peer, a number of seconds) has to keep.

    A ceiling by default; with `is_floor` the value has to be at least the limit."""

    limit: float
    is_floor: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.is_floor else value <= self.limit

    def verdict(self, low: float, high: float) -> Verdict:
        """Return what an interval of values says: all of them meet the bar, none does, or neither."""
        met = {self.is_met(low), self.is_met(high)}
        return "undecided" if len(met) == 2 else "met" if met == {True} else "missed"

    def __str__(self) -> str:
        return f"{'≥' if self.is_floor else '≤'} {self.limit:g}"


@dataclass(frozen=True)
class Row:
    """One line of the table: the ratio of candidate `ours` to candidate `theirs`.

    Without `theirs`, our own seconds are compared with the bar."""

    name: str
    against: str
    ours: str
    theirs: str | None
    bar: Bar
    unit: str = "s"


Setup = Callable[[Testbed], AbstractContextManager[Mapping[str, Candidate]]]


@dataclass(frozen=True)
class Benchmark:
    """Candidates that share one setup and are measured in turn, and the rows computed from their samples.

    `is_slow` leaves out the warm-up round. `is_quick` makes it part of `ROWS=quick`. Rounds go on until
    one of the `looks` finds all rows decided, and end with the last look."""

    key: str
    setup: Setup
    rows: tuple[Row, ...]
    is_slow: bool = False
    is_quick: bool = False
    looks: tuple[int, ...] = LOOKS


def select_benchmarks(contests: tuple[Benchmark, ...], words: str) -> list[Benchmark]:
    """Return the benchmarks whose key begins with one of the comma-separated words; all for an empty text, and the
    quick ones for `quick`.

    A word that no key begins with ends the program."""
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    if not wanted:
        return list(contests)
    if wanted == [QUICK]:
        return [contest for contest in contests if contest.is_quick]
    unknown = [word for word in wanted if not any(contest.key.startswith(word) for contest in contests)]
    if unknown:
        known = ", ".join(contest.key for contest in contests)
        raise SystemExit(f"bench: no row begins with {', '.join(unknown)}; there are {known}")
    return [contest for contest in contests if contest.key.startswith(tuple(wanted))]
