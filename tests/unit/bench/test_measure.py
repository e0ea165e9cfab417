"""The benchmark's own arithmetic, on contestants whose duration is known: a clock that they move."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bench.benchmark import LOOKS, Bar, Benchmark, Candidate, Row, timed_call
from bench.measure import evaluate_row, interval, measure

SECONDS = Row("ours", "theirs", "a", "b", Bar(0.5))


@dataclass
class Watch:
    """Stands still while a contestant is prepared and moves while it works."""

    now: float = 0.0
    order: list[str] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def contestant(self, name: str, *durations: float) -> Candidate:
        left = iter(durations)

        def work() -> None:
            self.order.append(name)
            self.now += next(left)

        return Candidate(work, lambda: self.order.append(f"before {name}"))


def contest(*rows: Row, is_slow: bool = True, looks: tuple[int, ...] = LOOKS) -> Benchmark:
    return Benchmark("x", lambda ground: pytest.fail("nothing is prepared here"), rows, is_slow, looks=looks)


def test_contestants_take_turns_in_changing_order_and_are_prepared_each_time() -> None:
    watch = Watch()
    samples = measure(
        contest(looks=(3,)), {"a": watch.contestant("a", 1, 2, 3), "b": watch.contestant("b", 10, 10, 10)}, watch
    )
    first, second = ["before a", "a"], ["before b", "b"]
    assert watch.order == [*first, *second, *second, *first, *first, *second]
    assert samples == {"a": [1, 2, 3], "b": [10, 10, 10]}


def test_the_first_round_of_quick_ones_does_not_count() -> None:
    watch = Watch()
    samples = measure(contest(is_slow=False, looks=(3,)), {"a": watch.contestant("a", 99, 1, 2, 3)}, watch)
    assert samples == {"a": [1, 2, 3]}


def test_what_a_contestant_tells_is_its_measure() -> None:
    samples = measure(contest(looks=(3,)), {"a": Candidate(lambda: 300.0)}, Watch())
    assert samples == {"a": [300.0, 300.0, 300.0]}


def test_the_result_of_a_plain_call_is_no_measure() -> None:
    assert timed_call(max, 1, 2)() is None


def test_the_ratio_is_the_median_of_the_rounds_with_its_interval() -> None:
    found = evaluate_row(contest(SECONDS), SECONDS, {"a": [1, 1, 1, 1, 1, 1, 1, 4], "b": [2, 5, 4, 4, 4, 4, 4, 10]})
    assert (found.ours, found.theirs) == (1, 4)
    assert (found.ratio, found.interval) == (0.25, (0.2, 0.5))
    assert (found.bar, found.verdict, found.rounds) == ("≤ 0.5", "met", 8)


@pytest.mark.parametrize(
    ("count", "dropped"),
    [(1, None), (7, None), (8, 0), (10, 0), (11, 1), (12, 1), (16, 2), (20, 4)],
)
def test_the_interval_leaves_out_as_many_values_as_the_sign_test_allows(count: int, dropped: int | None) -> None:
    """The numbers are those of the tables of the sign test at 98.75 %, two-sided: four looks share 5 %."""
    expected = None if dropped is None else (dropped, count - 1 - dropped)
    assert interval([*range(count)][::-1], 0.0125) == expected


@pytest.mark.parametrize(
    ("bar", "ratio", "verdict"),
    [
        (Bar(0.5), 0.5, "met"),
        (Bar(0.5), 0.51, "missed"),
        (Bar(0.65, is_floor=True), 0.65, "met"),
        (Bar(0.65, is_floor=True), 0.64, "missed"),
    ],
)
def test_a_bar_is_met_from_its_own_side(bar: Bar, ratio: float, verdict: str) -> None:
    row = Row("ours", "theirs", "a", "b", bar)
    assert evaluate_row(contest(row), row, {"a": [ratio] * 8, "b": [1.0] * 8}).verdict == verdict


@pytest.mark.parametrize(
    "ours",
    [[95.0, *[99.0] * 7], [*[97.0] * 7, 99.0], [99.0] * 7],
    ids=["mostly met", "mostly missed", "too few rounds"],
)
def test_noise_makes_a_row_neither_met_nor_missed(ours: list[float]) -> None:
    row = Row("ours", "theirs", "a", "b", Bar(0.98, is_floor=True))
    assert evaluate_row(contest(row), row, {"a": ours, "b": [100.0] * len(ours)}).verdict == "undecided"


def test_rounds_go_on_until_the_row_is_decided() -> None:
    told = iter([0.6, *[0.4] * 20])
    samples = measure(
        contest(SECONDS, looks=LOOKS),
        {"a": Candidate(lambda: next(told)), "b": Candidate(lambda: 1.0)},
        Watch(),
    )
    # Of twelve values one may lie outside of the interval.
    assert samples["a"] == [0.6, *[0.4] * 11]


def test_all_looks_together_keep_within_the_error() -> None:
    """A row whose true ratio is exactly its bar is decided by chance only: in at most 5 % of runs."""
    dice = random.Random(1)
    decided = 0
    for _ in range(2000):
        told = [dice.choice((0.4, 0.6)) for _ in range(LOOKS[-1])]
        samples = [{"a": told[:look], "b": [1.0] * look} for look in LOOKS]
        decided += any(evaluate_row(contest(SECONDS), SECONDS, seen).verdict != "undecided" for seen in samples)
    assert 0 < decided <= 0.05 * 2000


def test_rounds_end_at_their_limit_where_nothing_is_decided() -> None:
    told = iter([0.4, 0.6] * 10)
    samples = measure(
        contest(SECONDS, looks=(8, 12)),
        {"a": Candidate(lambda: next(told)), "b": Candidate(lambda: 1.0)},
        Watch(),
    )
    assert len(samples["a"]) == 12


def test_without_a_peer_seconds_stand_against_the_bar() -> None:
    row = Row("ours", "nobody", "a", None, Bar(1.0))
    found = evaluate_row(contest(row), row, {"a": [0.5, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.9]})
    assert (found.ratio, found.theirs, found.interval, found.verdict) == (0.7, None, (0.5, 0.9), "met")


@pytest.fixture
def failing() -> Callable[[], None]:
    def work() -> None:
        raise RuntimeError("the peer failed")

    return work


def test_a_contestant_that_fails_has_no_time(failing: Callable[[], None]) -> None:
    with pytest.raises(RuntimeError, match="the peer failed"):
        measure(contest(looks=(3,)), {"a": Candidate(failing)}, Watch())
