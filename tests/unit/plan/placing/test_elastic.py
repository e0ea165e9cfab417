"""Slots for jobs that can do with fewer."""

import pytest

from hvdocker.errors import NotEnoughSlots
from hvdocker.model.endurance import Elastic
from hvdocker.model.offer import Hold, Offer, Request, Slot
from hvdocker.model.placement import Placement, Share
from hvdocker.plan.placing import place_elastic

OFFERS = [Offer("a", (Slot(),) * 2), Offer("b", (Slot(),), (Hold("eval-abcd of kim", 3),))]


@pytest.mark.parametrize(
    ("request_", "elastic", "shares"),
    [
        (Request(np=2), Elastic(1), (Share("a", 2),)),
        (Request(np=6), Elastic(1), (Share("b", 1), Share("a", 2))),
        (Request(np=6), Elastic(3, 8), (Share("b", 1), Share("a", 2))),
        (Request(), Elastic(1), (Share("b", 1), Share("a", 2))),
        (Request(), Elastic(1, 2), (Share("a", 2),)),
        (Request(np=6, exclude=("a",)), Elastic(1), (Share("b", 1),)),
        # Equal shares: three ranks cannot be had so.
        (Request(np=3, strategy="balanced"), Elastic(1), (Share("a", 2),)),
    ],
)
def test_what_is_wanted_else_the_most_that_fits(
    request_: Request, elastic: Elastic, shares: tuple[Share, ...]
) -> None:
    assert place_elastic(request_, OFFERS, elastic) == Placement(shares)


@pytest.mark.parametrize("request_", [Request(np=6), Request()])
def test_fewer_than_the_fewest_is_refused_with_that_number(request_: Request) -> None:
    with pytest.raises(NotEnoughSlots, match="4 wanted, 3 free: 3 on b are held by eval-abcd of kim"):
        place_elastic(request_, OFFERS, Elastic(4))
