"""Measures candidates in turn, so that other load on the machine affects all of them alike, until the rows are
decided."""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.benchmark import Benchmark, Candidate, Row, Verdict

Clock = Callable[[], float]
Samples = Mapping[str, list[float]]
# How often a row whose ratio is exactly its bar may be called met or missed. Rounds end when a look decides, and each
# further look is another chance to be wrong: the looks of a benchmark share this error.
ERROR = 0.05


@dataclass(frozen=True)
class Measured:
    """The numbers of a row: medians of both sides, and the median of the ratios of single rounds with its interval.

    Written to bench.json field by field."""

    contest: str
    row: str
    against: str
    unit: str
    ours: float
    theirs: float | None
    ratio: float
    interval: tuple[float, float]
    bar: str
    limit: float
    verdict: Verdict
    rounds: int


def measure(contest: Benchmark, contestants: Mapping[str, Candidate], clock: Clock = time.perf_counter) -> Samples:
    """Measure every candidate once per round, each after its own `before`, until a look finds every row met or missed,
    or the benchmark has had its last look.

    A warm-up round that is not counted comes first, except for slow benchmarks: they take too long for that,
    and warm caches make little difference to them."""
    if not contest.is_slow:
        for contestant in contestants.values():
            sample(contestant, clock)
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for done in range(1, contest.looks[-1] + 1):
        # The order changes from round to round: what the one leaves behind (warm caches, dirty pages) must not always
        # meet the other.
        for name in list(contestants)[:: 1 if done % 2 else -1]:
            samples[name].append(sample(contestants[name], clock))
        if done in contest.looks and is_decided(contest, samples):
            break
    return samples


def is_decided(contest: Benchmark, samples: Samples) -> bool:
    return all(evaluate_row(contest, row, samples).verdict != "undecided" for row in contest.rows)


def sample(contestant: Candidate, clock: Clock) -> float:
    contestant.before()
    started = clock()
    told = contestant.work()
    took = clock() - started
    return took if told is None else told


def evaluate_row(contest: Benchmark, row: Row, samples: Samples) -> Measured:
    ours = samples[row.ours]
    values = ratios(ours, samples[row.theirs]) if row.theirs else ours
    found = interval(values, ERROR / len(contest.looks))
    low, high = found or (min(values), max(values))
    return Measured(
        contest=contest.key,
        row=row.name,
        against=row.against,
        unit=row.unit,
        ours=statistics.median(ours),
        theirs=statistics.median(samples[row.theirs]) if row.theirs else None,
        ratio=statistics.median(values),
        interval=(low, high),
        bar=str(row.bar),
        limit=row.bar.limit,
        verdict=row.bar.verdict(low, high) if found else "undecided",
        rounds=len(ours),
    )


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    """Return the ratio of each round: load that slowed the machine for a minute slowed both sides."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]


def interval(values: Sequence[float], error: float) -> tuple[float, float] | None:
    """Return an interval that misses the true median with a probability of at most `error`; None if there are too few
    values for one.

    Its ends are two of the values, by the sign test. Nothing is assumed about how the values are distributed: a single
    round in which the machine was busy does not move it."""
    ordered = sorted(values)
    count = len(ordered)
    # The chance that at most `drop` of the values lie on one side of the median.
    drop, chance = -1, 0.0
    while drop + 1 < count and chance + math.comb(count, drop + 1) / 2**count <= error / 2:
        drop += 1
        chance += math.comb(count, drop) / 2**count
    return (ordered[drop], ordered[-1 - drop]) if drop >= 0 else None
