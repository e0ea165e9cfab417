"""What came close, and by which criterion it lost: the data of `--explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hvdocker.errors import HvdockerError
from hvdocker.model.offer import STRATEGIES, Offer, Request
from hvdocker.model.placement import Placement
from hvdocker.plan.placing.choose import NO_LINKS, Links
from hvdocker.plan.placing.place import place
from hvdocker.plan.placing.score import Judge, Score

# Hosts of the winner that are tried to be done without.
MOST_TRIED = 12


@dataclass(frozen=True)
class RunnerUp:
    """`how` it came about: without a host, or by another strategy."""

    how: str
    placement: Placement
    lost_by: str


@dataclass(frozen=True)
class Explanation:
    """`merits` are what the winner was chosen by: each criterion with its value. `impossible` are ways that
    lead nowhere."""

    strategy: str
    winner: Placement
    merits: Mapping[str, str]
    runners_up: tuple[RunnerUp, ...] = ()
    impossible: tuple[str, ...] = ()


def explain(request: Request, offers: Sequence[Offer], links: Links = NO_LINKS) -> Explanation:
    """Raises what `place` raises."""
    winner = place(request, offers, links)
    strategy = "exact" if request.exact else request.strategy
    judge = Judge(strategy, request, offers, links)
    best = judge.score(winner)
    seen = {winner}
    found: list[tuple[Score, RunnerUp]] = []
    impossible = []
    for how, other in _others(replace(request, np=winner.np), winner):
        try:
            placement = place(other, offers, links)
        except HvdockerError:
            impossible.append(how)
            continue
        if placement not in seen:
            seen.add(placement)
            score = judge.score(placement)
            found.append((score, RunnerUp(how, placement, judge.why(score, best))))
    found.sort(key=lambda one: one[0].key)
    return Explanation(
        strategy, winner, judge.merits(best), tuple(runner for _, runner in found), tuple(impossible)
    )


def _others(request: Request, winner: Placement) -> list[tuple[str, Request]]:
    """Without each of its hosts in turn, and by the other strategies."""
    free = replace(request, exact=())
    without = [
        (f"without {host}", replace(free, exclude=(*request.exclude, host)))
        for host in winner.hosts[:MOST_TRIED]
        if not request.exact
    ]
    return without + [
        (strategy, replace(free, strategy=strategy))
        for strategy in STRATEGIES
        if request.exact or strategy != request.strategy
    ]
