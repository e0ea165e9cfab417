"""Slots for jobs that can do with fewer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import GpuRequest, HeldSlots, Offer, Slot, SlotRequest
from hvdocker.placement.strategies import place_most
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic

OFFERS = [Offer("a", (Slot(),) * 2), Offer("b", (Slot(),), (HeldSlots("eval-abcd of kim", 3),))]


@pytest.mark.parametrize(
    ("request_", "elastic", "shares"),
    [
        (SlotRequest(np=2), Elastic(1), (Share("a", 2),)),
        (SlotRequest(np=6), Elastic(1), (Share("b", 1), Share("a", 2))),
        (SlotRequest(np=6), Elastic(3, 8), (Share("b", 1), Share("a", 2))),
        (SlotRequest(np=1), Elastic(1, 2), (Share("a", 2),)),
        (SlotRequest(np=2), Elastic(1, 8), (Share("b", 1), Share("a", 2))),
        (SlotRequest(np=2), None, (Share("a", 2),)),
        (SlotRequest(), Elastic(1), (Share("b", 1), Share("a", 2))),
        (SlotRequest(), Elastic(1, 2), (Share("a", 2),)),
        (SlotRequest(np=6, exclude=("a",)), Elastic(1), (Share("b", 1),)),
        # Equal shares: three ranks cannot be had so.
        (SlotRequest(np=3, strategy="balanced"), Elastic(1), (Share("a", 2),)),
    ],
)
def test_the_most_that_it_may_have_and_that_fits(
    request_: SlotRequest, elastic: Elastic | None, shares: tuple[Share, ...]
) -> None:
    assert place_most(replace(request_, elastic=elastic), OFFERS) == Placement(shares)


@dataclass
class Counted(Sequence[Offer]):
    """Offers that know how often they were looked through."""

    offers: list[Offer]
    looks: int = 0

    def __getitem__(self, place: Any) -> Any:  # Any: an index or a slice
        return self.offers[place]

    def __len__(self) -> int:
        return len(self.offers)

    def __iter__(self) -> Iterator[Offer]:
        self.looks += 1
        return iter(self.offers)


@pytest.mark.parametrize("elastic", [Elastic(1), Elastic(1, 500)])
def test_slots_that_do_not_fit_are_not_counted_down(elastic: Elastic) -> None:
    def looks(others: int) -> int:
        cards = tuple(Slot(f"GPU-{n}", "A100", 81920) for n in range(2))
        rest = tuple(Slot(f"OLD-{n}", "K80", 11441) for n in range(others))
        offers = Counted([Offer("a", cards, has_gpus=True), Offer("b", rest, has_gpus=True)])
        found = place_most(SlotRequest(gpu=GpuRequest("A100"), elastic=elastic), offers)
        assert found == Placement((Share("a", 2, ("GPU-0", "GPU-1")),))
        return offers.looks

    assert looks(others=1000) == looks(others=1)


@pytest.mark.parametrize(
    ("request_", "elastic", "fix"),
    [
        (SlotRequest(), Elastic(4), "ask for fewer: --min-np 3; stop what holds them"),
        (SlotRequest(np=9), Elastic(4, 9), "ask for fewer: --min-np 3; stop what holds them"),
        (
            SlotRequest(strategy="balanced"),
            Elastic(3),
            "--min-np 2 can be had in equal shares; or take --strategy pack",
        ),
        (SlotRequest(strategy="balanced"), Elastic(4), "ask for fewer: --min-np 2; stop what holds them"),
    ],
)
def test_what_is_advised_is_not_refused_in_turn(request_: SlotRequest, elastic: Elastic, fix: str) -> None:
    with pytest.raises(NotEnoughSlots) as caught:
        place_most(replace(request_, elastic=elastic), OFFERS)
    assert caught.value.fix == fix


def test_equal_shares_above_the_bound_are_had_by_another_bound() -> None:
    offers = [Offer(name, (Slot(),) * 2) for name in "ab"]
    with pytest.raises(NotEnoughSlots) as caught:
        place_most(SlotRequest(strategy="balanced", elastic=Elastic(3, 3)), offers)
    assert str(caught.value.fix).startswith("--min-np 2 or --max-np 4 can be had in equal shares")


@pytest.mark.parametrize("request_", [SlotRequest(np=6), SlotRequest()])
def test_fewer_than_the_fewest_is_refused_with_that_number(request_: SlotRequest) -> None:
    with pytest.raises(NotEnoughSlots, match="4 wanted, 3 free: 3 on b are held by eval-abcd of kim"):
        place_most(replace(request_, elastic=Elastic(4)), OFFERS)
