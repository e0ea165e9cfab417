"""Placement against a judge that tries every allocation, over thousands of small cases. The cases are the
same in every run."""

import random

import pytest

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import GpuRequest, Offer, Slot, SlotRequest
from hvdocker.placement.strategies import place
from hvdocker.protocol.placement import Placement, Share
from tests.unit.placement.strategies.scorer import Links, best_allocation, fitting_slots

SPEEDS = (1e9, 2.5e9, 1e10, 2.5e10)


def offers_of(dice: random.Random, most_hosts: int, most_slots: int, models: str, has_cpus: bool) -> list[Offer]:
    """Hosts are often alike, as they are in a rack."""
    offers = []
    left = most_slots
    alike = dice.choice((0, 0, 1, 2, 2, 3))
    for host in "abcdefgh"[: dice.randint(2, most_hosts)]:
        size = min(left, alike) if alike and dice.random() < 0.9 else dice.randint(0, min(left, 5))
        left -= size
        is_cpu = has_cpus and dice.random() < 0.4
        slots = tuple(
            Slot() if is_cpu else Slot(f"{host}{n}", dice.choice(models), dice.choice((None, 16384, 81920)))
            for n in range(size)
        )
        offers.append(Offer(host, slots))
    return offers


def links_of(dice: random.Random, offers: list[Offer]) -> Links:
    """Of some pairs, or of none."""
    share = dice.choice((0.0, 0.5, 0.9, 1.0))
    names = [offer.host for offer in offers]
    return {
        frozenset({one, other}): dice.choice(SPEEDS)
        for one in names
        for other in names
        if one < other and dice.random() < share
    }


def request_of(dice: random.Random, strategy: str, offers: list[Offer], models: str) -> SlotRequest:
    wishes = (
        GpuRequest(is_none=True),
        GpuRequest(dice.choice(models)),
        GpuRequest(memory_mb=81920),
        GpuRequest(dice.choice(models), 16384),
    )
    wish = dice.choice(wishes) if dice.random() < 0.4 else None
    names = [offer.host for offer in offers]
    some = tuple(name for name in names if dice.random() < 0.8) if dice.random() < 0.2 else ()
    not_these = (dice.choice(names),) if dice.random() < 0.1 else ()
    free = sum(len(offer.free) for offer in offers)
    return SlotRequest(dice.randint(1, free + 1), strategy, wish, some, not_these)


def expected(request: SlotRequest, offers: list[Offer], links: Links) -> Placement | None:
    given = best_allocation(request.strategy, request.np or 0, fitting_slots(request, offers, links))
    if given is None:
        return None
    shares = [Share(host, len(s), tuple(slot.device for slot in s if slot.device)) for host, s in given.items()]
    smallest = min(share.slots for share in shares)
    head = next(share for share in shares if share.slots == smallest)
    return Placement((head, *[share for share in shares if share != head]))


def placed(request: SlotRequest, offers: list[Offer], links: Links) -> Placement | None:
    try:
        return place(request, offers, links)
    except NotEnoughSlots:
        return None


@pytest.mark.parametrize("strategy", ["pack", "spread", "balanced"])
@pytest.mark.parametrize(
    ("cases", "most_hosts", "most_slots", "models", "has_cpus"),
    [
        (400, 4, 9, "A", False),
        (1200, 4, 10, "ABC", False),
        (900, 8, 10, "AB", False),
        (500, 5, 10, "AB", True),
        (100, 6, 12, "ABCD", False),
    ],
)
def test_nothing_is_better(
    strategy: str, cases: int, most_hosts: int, most_slots: int, models: str, has_cpus: bool
) -> None:
    dice = random.Random(f"{strategy} {most_hosts} {most_slots} {models}")
    found = 0
    for _ in range(cases):
        offers = offers_of(dice, most_hosts, most_slots, models, has_cpus)
        request, links = request_of(dice, strategy, offers, models), links_of(dice, offers)
        best = expected(request, offers, links)
        assert placed(request, offers, links) == best, (request, offers, links)
        found += best is not None
    assert found > cases / 4


@pytest.mark.parametrize("strategy", ["pack", "spread", "balanced"])
def test_nothing_is_better_with_larger_hosts(strategy: str) -> None:
    """Of processor slots, so that there are fewer allocations."""
    dice = random.Random(strategy)
    for _ in range(250):
        some = [dice.randint(0, 7) for _ in range(dice.randint(2, 5))]
        offers = [Offer(host, (Slot(),) * dice.choice(some)) for host in "abcde"[: dice.randint(2, 5)]]
        free = sum(len(offer.free) for offer in offers)
        request, links = SlotRequest(dice.randint(1, max(1, free)), strategy), links_of(dice, offers)
        assert placed(request, offers, links) == expected(request, offers, links), (request, offers, links)


@pytest.mark.parametrize("strategy", ["pack", "spread", "balanced"])
@pytest.mark.parametrize("models", ["A", "ABCDEFGH"])
def test_ten_thousand_slots_on_two_thousand_hosts(strategy: str, models: str) -> None:
    """It ends; how fast is the benchmark's business."""
    dice = random.Random(models)
    offers = [
        Offer(f"h{host}", tuple(Slot(f"{host}-{n}", dice.choice(models)) for n in range(3 + host % 5)))
        for host in range(2000)
    ]
    for np in (1, 600, 2000, 6000):
        assert place(SlotRequest(np, strategy), offers).np == np
    assert place(SlotRequest(None, "pack"), offers).np == 10_000


def test_very_many_sizes_of_hosts() -> None:
    dice = random.Random(1)
    offers = [Offer(f"h{host}", (Slot(),) * dice.randint(1, 256)) for host in range(500)]
    for np in (100, 5_000, 30_000):
        assert place(SlotRequest(np), offers).np == np


def test_many_models_and_a_full_matrix_of_links_come_to_an_end() -> None:
    """Beyond what is searched to the end it is a placement all the same."""
    dice = random.Random(2)
    models = [f"M{n}" for n in range(40)]
    offers = [
        Offer(f"h{host}", tuple(Slot(f"{host}-{n}", dice.choice(models)) for n in range(4))) for host in range(60)
    ]
    links = {frozenset({a.host, b.host}): dice.random() * 1e10 for a in offers for b in offers if a != b}
    for strategy in ("pack", "balanced"):
        assert place(SlotRequest(60, strategy), offers, links).np == 60
