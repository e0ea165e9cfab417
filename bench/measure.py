"""Measures candidates in turn, so that other load on the machine affects all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.benchmark import Benchmark, Candidate, Row

Clock = Callable[[], float]
Samples = Mapping[str, list[float]]


@dataclass(frozen=True)
class Measured:
    """The numbers of a row: medians of both sides, and the median and spread of the ratios of single rounds.

    Written to bench.json field by field."""

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


def measure(contest: Benchmark, contestants: Mapping[str, Candidate], clock: Clock = time.perf_counter) -> Samples:
    """Measure every candidate once per round, each after its own `before`.

    A warm-up round that is not counted comes first, except for slow benchmarks: they take too long for that,
    and warm caches make little difference to them."""
    if not contest.is_slow:
        for contestant in contestants.values():
            sample(contestant, clock)
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(contest.rounds):
        for name, contestant in contestants.items():
            samples[name].append(sample(contestant, clock))
    return samples


def sample(contestant: Candidate, clock: Clock) -> float:
    contestant.before()
    started = clock()
    told = contestant.work()
    took = clock() - started
    return took if told is None else told


def evaluate_row(contest: Benchmark, row: Row, samples: Samples) -> Measured:
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
    """Return the ratio of each round: load that slowed the machine for a minute slowed both sides."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]


def is_within_noise(row: Row, samples: Samples, value: float) -> bool:
    if row.noise is None:
        return False
    first, second = row.noise
    same = ratios(samples[first], samples[second])
    return min(same) <= value <= max(same)
