"""The data of `--explain`: alternative placements, and the criterion by which each one lost. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hvdocker.errors import HvdockerError
from hvdocker.placement.slots import STRATEGIES, GpuRequest, Offer, SlotRequest
from hvdocker.placement.strategies.choose import NO_LINKS, Links
from hvdocker.placement.strategies.eligible import eligible_slots
from hvdocker.placement.strategies.place import place
from hvdocker.placement.strategies.score import PlacementScorer
from hvdocker.protocol.placement import Placement

# How many hosts of the winner are left out in turn to find alternatives.
MAX_HOSTS_LEFT_OUT = 12


@dataclass(frozen=True)
class RunnerUp:
    """An alternative placement that was not chosen.

    `how` says how it was found: by leaving out a host, by another strategy, or by several of these. `lost_by`
    says by which criterion it is worse than the chosen placement."""

    how: str
    placement: Placement
    lost_by: str


@dataclass(frozen=True)
class Explanation:
    """The chosen placement (`winner`) and its alternatives (`runners_up`, best first).

    `strategy` is the name of the strategy. `merits` has the winner's value by criterion, as text. `impossible` names
    the alternatives that cannot be placed, such as `without b`."""

    strategy: str
    winner: Placement
    merits: Mapping[str, str]
    runners_up: tuple[RunnerUp, ...] = ()
    impossible: tuple[str, ...] = ()


def explain(request: SlotRequest, offers: Sequence[Offer], links: Links = NO_LINKS) -> Explanation:
    """Return the placement of the request and its alternatives, for `--explain`.

    Each alternative leaves out one host of the chosen placement, or uses another strategy. They use the same kind of
    slots (GPUs or not) as the chosen placement. `offers` are the free and held slots of each host, in inventory order.
    `links` are the measured speeds of pairs of hosts in bits per second, by which hosts that are otherwise equally good
    are chosen. Raise NotEnoughSlots or UsageProblem if the request itself cannot be placed."""
    winner = place(request, offers, links)
    strategy = "exact" if request.exact else request.strategy
    judge = PlacementScorer(strategy, request, offers, links)
    best = judge.score(winner)
    ways: dict[Placement, list[str]] = {}
    impossible = []
    gpu = request.gpu or GpuRequest(is_none=not eligible_slots(request, offers).wants_gpus)
    for how, other in _alternative_requests(replace(request, np=winner.np, gpu=gpu), winner):
        try:
            ways.setdefault(place(other, offers, links), []).append(how)
        except HvdockerError:
            impossible.append(how)
    ways.pop(winner, None)
    scored = sorted(((judge.score(rival), rival) for rival in ways), key=lambda one: one[0].key)
    runners_up = tuple(RunnerUp(", ".join(ways[rival]), rival, judge.why_worse(score, best)) for score, rival in scored)
    return Explanation(strategy, winner, judge.merits(best), runners_up, tuple(impossible))


def _alternative_requests(request: SlotRequest, winner: Placement) -> list[tuple[str, SlotRequest]]:
    """Return the alternative requests with their descriptions: without one host of the winner, or by another strategy.

    For a request with `-H`, hosts are not left out, but all strategies are tried."""
    free = replace(request, exact=())
    without = [
        (f"without {host}", replace(free, exclude=(*request.exclude, host)))
        for host in winner.hosts[:MAX_HOSTS_LEFT_OUT]
        if not request.exact
    ]
    return without + [
        (strategy, replace(free, strategy=strategy))
        for strategy in STRATEGIES
        if request.exact or strategy != request.strategy
    ]
