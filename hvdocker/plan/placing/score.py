"""How good a placement is by each criterion of a strategy, and in words by which one it lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hvdocker.model.offer import Offer, Request
from hvdocker.model.placement import Placement
from hvdocker.model.units import count
from hvdocker.plan.placing.choose import Links
from hvdocker.plan.placing.fitting import fitting

# By strategy, the first one that differs decides.
CRITERIA = {
    "pack": ("hosts", "left over", "shares", "models", "links", "order"),
    "spread": ("evenness", "models", "order"),
    "balanced": ("equality", "hosts", "left over", "models", "links", "order"),
    "exact": (),
}


@dataclass(frozen=True)
class Value:
    """`key` compares, smaller is better; `shown` says it, `against` says it where it is the worse one."""

    key: object
    shown: str
    worse: str


@dataclass(frozen=True)
class Score:
    values: Mapping[str, Value]

    @property
    def key(self) -> list[object]:
        return [value.key for value in self.values.values()]


class Judge:
    """Measures placements by the criteria of one strategy."""

    def __init__(self, strategy: str, request: Request, offers: Sequence[Offer], links: Links) -> None:
        found = fitting(request, offers)
        self.criteria = CRITERIA[strategy]
        self.links = links
        self.order = {offer.host: place for place, offer in enumerate(found.offers)}
        self.free = {room.host: room.size for room in found.rooms}
        self.places = {
            slot.device: (place, slot.model)
            for room in found.rooms
            for place, slot in enumerate(room.slots)
            if slot.is_gpu
        }

    def score(self, placement: Placement) -> Score:
        measures = {
            "hosts": self._hosts, "left over": self._left_over, "shares": self._shares,
            "models": self._models, "links": self._links, "order": self._order,
            "evenness": self._evenness, "equality": self._equality,
        }  # fmt: skip
        return Score({name: measures[name](placement) for name in self.criteria})

    def why(self, score: Score, best: Score) -> str:
        for name in self.criteria:
            value, better = score.values[name], best.values[name]
            if value.key != better.key:
                return f"{value.worse}, not {better.shown}"
        return "not what -H says" if not self.criteria else "equally good"

    def merits(self, score: Score) -> Mapping[str, str]:
        return {name: value.shown for name, value in score.values.items()}

    def _hosts(self, placement: Placement) -> Value:
        hosts = len(placement.shares)
        return Value(hosts, str(hosts), f"needs {count(hosts, 'host')}")

    def _left_over(self, placement: Placement) -> Value:
        left = sum(self.free.get(share.host, 0) - share.slots for share in placement.shares)
        return Value(left, str(left), f"leaves {count(left, 'slot')} over on its hosts")

    def _shares(self, placement: Placement) -> Value:
        shares = sorted((share.slots for share in placement.shares), reverse=True)
        shown = _listed(shares)
        return Value([-share for share in shares], shown, f"its shares are {shown}")

    def _models(self, placement: Placement) -> Value:
        used = {self.places[device][1] for share in placement.shares for device in share.devices}
        return Value(len(used), str(len(used)), f"mixes {count(len(used), 'GPU model')}")

    def _links(self, placement: Placement) -> Value:
        pairs = [frozenset(pair) for pair in combinations(placement.hosts, 2)]
        if not pairs or not self.links:
            return Value(0.0, "not a question", "")
        speed = min(self.links.get(pair, 0.0) for pair in pairs)
        shown = f"{speed / 1e9:.1f} Gbit/s" if speed else "not measured"
        return Value(-speed, shown, f"its slowest link has {shown}" if speed else "a link was not measured")

    def _order(self, placement: Placement) -> Value:
        shares = sorted((self.order.get(share.host, 0), share) for share in placement.shares)
        devices = [[self.places[device][0] for device in share.devices] for _, share in shares]
        key = [place for place, _ in shares], [-share.slots for _, share in shares], devices
        shown = ", ".join(share.host for _, share in shares)
        return Value(key, shown, f"comes later in the inventory's order ({shown})")

    def _evenness(self, placement: Placement) -> Value:
        given = {share.host: share.slots for share in placement.shares}
        shares = sorted(given.get(host, 0) for host in self.free)
        shown = _listed(sorted(given.values(), reverse=True))
        return Value([-share for share in shares], shown, f"its shares are {shown}")

    def _equality(self, placement: Placement) -> Value:
        shares = sorted((share.slots for share in placement.shares), reverse=True)
        is_uneven = len(set(shares)) > 1
        shown = "unequal" if is_uneven else "equal"
        return Value(is_uneven, shown, f"its shares are {shown} ({_listed(shares)})")


def _listed(numbers: Sequence[int]) -> str:
    shown = [str(number) for number in numbers[:8]]
    return " + ".join(shown) + (" + …" if len(numbers) > 8 else "")
