"""What is measured: contestants that do the same work, and the rows of the table that compare two of them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from bench.ground import Ground

ROUNDS = 5
ROUNDS_OF_SLOW = 3

# Returns nothing where its own duration is the measure, else the measure: megabytes or samples in a second.
Work = Callable[[], float | None]


def nothing() -> None:
    """What most contestants need before each round."""


def doing(function: Callable[..., object], *arguments: Any, **named: Any) -> Work:
    """A call whose result does not matter: its duration is the measure."""

    def work() -> None:
        function(*arguments, **named)

    return work


@dataclass(frozen=True)
class Contestant:
    work: Work
    before: Callable[[], None] = nothing


@dataclass(frozen=True)
class Bar:
    """Met by a ratio (or, without a peer, a number of seconds) on the right side of the limit."""

    limit: float
    is_floor: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.is_floor else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.is_floor else '≤'} {self.limit:g}"


@dataclass(frozen=True)
class Row:
    """One line of the table. Without `theirs` our own seconds stand against the bar. `noise` names two
    contestants that do exactly the same: what lies within their spread counts as met too."""

    name: str
    against: str
    ours: str
    theirs: str | None
    bar: Bar
    unit: str = "s"
    noise: tuple[str, str] | None = None


Prepared = Callable[[Ground], AbstractContextManager[Mapping[str, Contestant]]]


@dataclass(frozen=True)
class Contest:
    """Contestants of one preparation, measured in turn, and the rows that are drawn from them."""

    key: str
    prepared: Prepared
    rows: tuple[Row, ...]
    is_slow: bool = False

    @property
    def rounds(self) -> int:
        return ROUNDS_OF_SLOW if self.is_slow else ROUNDS


def chosen(contests: tuple[Contest, ...], words: str) -> list[Contest]:
    """`ROWS=up,sync`: every contest whose key begins with one of the words; all where there are none."""
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    if not wanted:
        return list(contests)
    unknown = [word for word in wanted if not any(contest.key.startswith(word) for contest in contests)]
    if unknown:
        known = ", ".join(contest.key for contest in contests)
        raise SystemExit(f"bench: no row begins with {', '.join(unknown)}; there are {known}")
    return [contest for contest in contests if contest.key.startswith(tuple(wanted))]
