"""Scores placements by the criteria of a strategy, for `--explain`: says why one placement is worse than another. The
placement itself is chosen by the strategy, not here. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hvdocker.placement.slots import Offer, SlotRequest
from hvdocker.placement.strategies.choose import Links
from hvdocker.placement.strategies.eligible import eligible_slots
from hvdocker.protocol.placement import Placement, Share
from hvdocker.units import pluralize

MAX_LISTED = 8
# The criteria of each strategy. The first one in which two placements differ decides.
CRITERIA = {
    "pack": ("hosts", "left over", "shares", "models", "links", "order", "devices"),
    "spread": ("even shares", "order", "models per host", "devices"),
    "balanced": ("equal shares", "hosts", "left over", "models", "links", "order", "devices"),
    "exact": (),
}


@dataclass(frozen=True)
class CriterionValue:
    """The value of one placement for one criterion.

    `key` is compared: the smaller key is better. `shown` is the value as text, such as `2`. `worse` is the text that
    tells the value of a worse placement, such as `needs 3 hosts`; with `shown` of the better placement it becomes
    `needs 3 hosts, not 2`. If `is_shown` is False, `merits` leaves the value out."""

    key: object
    shown: str
    worse: str
    is_shown: bool = True


@dataclass(frozen=True)
class Score:
    """The values of one placement by criterion (`hosts`, `models`, …), in the order of the strategy's criteria. Scores
    of one scorer are compared by `key`; the smaller one is better."""

    values: Mapping[str, CriterionValue]

    @property
    def key(self) -> list[object]:
        return [value.key for value in self.values.values()]


class PlacementScorer:
    """Scores placements of one request by the criteria of one strategy (CRITERIA), to compare them for `--explain`.
    `offers` are the free and held slots of each host, `links` the measured speeds of pairs of hosts in bits per
    second, for the criterion `links` (the speed of the slowest pair)."""

    def __init__(self, strategy: str, request: SlotRequest, offers: Sequence[Offer], links: Links) -> None:
        found = eligible_slots(request, offers)
        self.criteria = CRITERIA[strategy]
        self.links = links
        self.order = {offer.host: place for place, offer in enumerate(found.offers)}
        self.free = {room.host: room.size for room in found.by_host}
        self.places = {
            slot.device: (place, slot.model)
            for room in found.by_host
            for place, slot in enumerate(room.slots)
            if slot.is_gpu
        }

    def score(self, placement: Placement) -> Score:
        measures = {
            "hosts": self._hosts, "left over": self._left_over, "shares": self._shares,
            "models": self._models, "links": self._links, "order": self._order,
            "devices": self._devices, "models per host": self._models_per_host,
            "even shares": self._evenness, "equal shares": self._equality,
        }  # fmt: skip
        return Score({name: measures[name](placement) for name in self.criteria})

    def why_worse(self, score: Score, best: Score) -> str:
        """Return why a placement with this score is worse than the placement with the score `best`, such as `needs 3
        hosts, not 2`.

        The first criterion in which the two differ decides. If they differ in none, return `equally good`. For a
        request with `-H`, which has no criteria, return `not what -H says`."""
        for name in self.criteria:
            value, better = score.values[name], best.values[name]
            if value.key != better.key:
                return f"{value.worse}, not {better.shown}"
        return "not what -H says" if not self.criteria else "equally good"

    def merits(self, score: Score) -> Mapping[str, str]:
        """Return the value of each criterion as text, by the name of the criterion, for `--explain`.

        The criteria `order` and `devices` are left out. So are criteria without a value, for example `links`
        (network speed) if no speed was measured."""
        return {name: value.shown for name, value in score.values.items() if value.is_shown}

    def _hosts(self, placement: Placement) -> CriterionValue:
        hosts = len(placement.shares)
        return CriterionValue(hosts, str(hosts), f"needs {pluralize(hosts, 'host')}")

    def _left_over(self, placement: Placement) -> CriterionValue:
        left = sum(self.free.get(share.host, 0) - share.slots for share in placement.shares)
        return CriterionValue(left, str(left), f"leaves {pluralize(left, 'slot')} over on its hosts")

    def _shares(self, placement: Placement) -> CriterionValue:
        shares = sorted((share.slots for share in placement.shares), reverse=True)
        shown = _join_first(shares)
        return CriterionValue([-share for share in shares], shown, f"its shares are {shown}")

    def _models(self, placement: Placement) -> CriterionValue:
        used = {self.places[device][1] for share in placement.shares for device in share.devices}
        shown = ", ".join(sorted(used))
        return CriterionValue(
            len(used), str(len(used)), f"mixes {pluralize(len(used), 'GPU model')} ({shown})", bool(used)
        )

    def _models_per_host(self, placement: Placement) -> CriterionValue:
        """Return the value of the criterion `models per host`: the number of GPU models on each host, in inventory
        order. The strategy spread minimizes this number on each host."""
        key = [len({self.places[device][1] for device in share.devices}) for share in self._in_order(placement)]
        most = max(key)
        return CriterionValue(key, str(most), f"mixes {pluralize(most, 'GPU model')} on a host", most > 0)

    def _links(self, placement: Placement) -> CriterionValue:
        pairs = [frozenset(pair) for pair in combinations(placement.hosts, 2)]
        if not pairs or not self.links:
            return CriterionValue(0.0, "", "", is_shown=False)
        speed = min(self.links.get(pair, 0.0) for pair in pairs)
        shown = f"{speed / 1e9:.1f} Gbit/s" if speed else "an unknown speed"
        return CriterionValue(-speed, shown, f"its slowest link has {shown}", speed > 0)

    def _order(self, placement: Placement) -> CriterionValue:
        shares = self._in_order(placement)
        key = [self.order[share.host] for share in shares], [-share.slots for share in shares]
        shown = _join_first([f"{share.host}:{share.slots}" for share in shares], ",")
        return CriterionValue(key, shown, f"comes later in the inventory's order: {shown}", is_shown=False)

    def _devices(self, placement: Placement) -> CriterionValue:
        key = [[self.places[device][0] for device in share.devices] for share in self._in_order(placement)]
        return CriterionValue(key, "the first ones", "takes later devices of its hosts", is_shown=False)

    def _in_order(self, placement: Placement) -> list[Share]:
        return sorted(placement.shares, key=lambda share: self.order[share.host])

    def _evenness(self, placement: Placement) -> CriterionValue:
        given = {share.host: share.slots for share in placement.shares}
        shares = sorted(given.get(host, 0) for host in self.free)
        shown = _join_first(sorted(given.values(), reverse=True))
        return CriterionValue([-share for share in shares], shown, f"its shares are {shown}")

    def _equality(self, placement: Placement) -> CriterionValue:
        shares = sorted((share.slots for share in placement.shares), reverse=True)
        shown = _join_first(shares)
        is_unequal = len(set(shares)) > 1
        return CriterionValue(is_unequal, shown, f"its shares are unequal: {shown}")


def _join_first(things: Sequence[object], between: str = " + ") -> str:
    """Return the first MAX_LISTED things as one text with `between` between them, and with an ellipsis at the end if
    there are more."""
    shown = [str(thing) for thing in things[:MAX_LISTED]]
    return between.join([*shown, "…"] if len(things) > MAX_LISTED else shown)
