"""The benchmark's own arithmetic, on contestants whose duration is known: a clock that they move."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bench.benchmark import Bar, Benchmark, Candidate, Row, timed_call
from bench.measure import evaluate_row, measure

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


def contest(*rows: Row, is_slow: bool = True) -> Benchmark:
    return Benchmark("x", lambda ground: pytest.fail("nothing is prepared here"), rows, is_slow)


def test_contestants_take_turns_and_are_prepared_each_time() -> None:
    watch = Watch()
    samples = measure(contest(), {"a": watch.contestant("a", 1, 2, 3), "b": watch.contestant("b", 10, 10, 10)}, watch)
    assert watch.order == ["before a", "a", "before b", "b"] * 3
    assert samples == {"a": [1, 2, 3], "b": [10, 10, 10]}


def test_the_first_round_of_quick_ones_does_not_count() -> None:
    watch = Watch()
    samples = measure(contest(is_slow=False), {"a": watch.contestant("a", 99, 1, 2, 3, 4, 5)}, watch)
    assert samples == {"a": [1, 2, 3, 4, 5]}


def test_what_a_contestant_tells_is_its_measure() -> None:
    samples = measure(contest(), {"a": Candidate(lambda: 300.0)}, Watch())
    assert samples == {"a": [300.0, 300.0, 300.0]}


def test_the_result_of_a_plain_call_is_no_measure() -> None:
    assert timed_call(max, 1, 2)() is None


def test_the_ratio_is_the_median_of_the_rounds_with_their_spread() -> None:
    found = evaluate_row(contest(SECONDS), SECONDS, {"a": [1, 1, 4], "b": [2, 5, 4]})
    assert (found.ours, found.theirs) == (1, 4)
    assert (found.ratio, found.spread) == (0.5, (0.2, 1.0))
    assert (found.bar, found.verdict, found.rounds) == ("≤ 0.5", "met", 3)


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
    assert evaluate_row(contest(row), row, {"a": [ratio], "b": [1.0]}).verdict == verdict


def test_without_a_peer_seconds_stand_against_the_bar() -> None:
    row = Row("ours", "nobody", "a", None, Bar(1.0))
    found = evaluate_row(contest(row), row, {"a": [0.5, 0.7, 2.0]})
    assert (found.ratio, found.theirs, found.spread, found.verdict) == (0.7, None, (0.5, 2.0), "met")


@pytest.mark.parametrize(
    ("again", "verdict"),
    [([90.0, 100.0, 110.0], "met"), ([99.0, 100.0, 110.0], "missed")],
    ids=["noisy", "quiet"],
)
def test_what_two_equal_runs_differ_by_is_forgiven(again: list[float], verdict: str) -> None:
    row = Row("ours", "theirs", "a", "b", Bar(0.98, is_floor=True), noise=("c", "b"))
    samples = {"a": [95.0] * 3, "b": [100.0] * 3, "c": again}
    assert evaluate_row(contest(row), row, samples).verdict == verdict


@pytest.fixture
def failing() -> Callable[[], None]:
    def work() -> None:
        raise RuntimeError("the peer failed")

    return work


def test_a_contestant_that_fails_has_no_time(failing: Callable[[], None]) -> None:
    with pytest.raises(RuntimeError, match="the peer failed"):
        measure(contest(), {"a": Candidate(failing)}, Watch())
