"""Measures contestants in turn, so that whatever else the machine does falls on all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.contest import Contest, Contestant, Row

Clock = Callable[[], float]
Samples = Mapping[str, list[float]]


@dataclass(frozen=True)
class Measured:
    """A row with its numbers: medians of both sides, and of the ratios of the single rounds."""

    contest: str
    row: str
    against: str
    unit: str
    ours: float
    theirs: float | None
    ratio: float
    spread: tuple[float, float]
    bar: str
    limit: float
    is_met: bool
    rounds: int

    @property
    def verdict(self) -> str:
        return "met" if self.is_met else "missed"


def measure(
    contest: Contest, contestants: Mapping[str, Contestant], clock: Clock = time.perf_counter
) -> Samples:
    """Every contestant once per round, each after its own preparation. Quick ones have a round that does not
    count first; slow ones take too long for that, and warm caches do little for them."""
    if not contest.is_slow:
        for contestant in contestants.values():
            sample(contestant, clock)
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(contest.rounds):
        for name, contestant in contestants.items():
            samples[name].append(sample(contestant, clock))
    return samples


def sample(contestant: Contestant, clock: Clock) -> float:
    contestant.before()
    started = clock()
    told = contestant.work()
    took = clock() - started
    return took if told is None else told


def judge(contest: Contest, row: Row, samples: Samples) -> Measured:
    ours = samples[row.ours]
    values = ratios(ours, samples[row.theirs]) if row.theirs else ours
    middle = statistics.median(values)
    return Measured(
        contest=contest.key,
        row=row.name,
        against=row.against,
        unit=row.unit,
        ours=statistics.median(ours),
        theirs=statistics.median(samples[row.theirs]) if row.theirs else None,
        ratio=middle,
        spread=(min(values), max(values)),
        bar=str(row.bar),
        limit=row.bar.limit,
        is_met=row.bar.is_met(middle) or is_within_noise(row, samples, middle),
        rounds=len(ours),
    )


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    """Round by round: what slowed the machine down for a minute slowed both."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]


def is_within_noise(row: Row, samples: Samples, value: float) -> bool:
    if row.noise is None:
        return False
    first, second = row.noise
    same = ratios(samples[first], samples[second])
    return min(same) <= value <= max(same)
