"""Placement by examples: what a person would expect, case by case."""

import pytest

from hvdocker.errors import NotEnoughSlots, UsageProblem
from hvdocker.placement.slots import GpuRequest, HeldSlots, Offer, Slot, SlotRequest
from hvdocker.placement.strategies import place
from hvdocker.protocol.placement import Placement, Share
from tests.unit.placement.strategies.build_offers import cpus, devices, gpu_offers, gpus, shares

KIM = HeldSlots("mnist-4kq2 of kim", 2)


@pytest.mark.parametrize(
    ("np", "free", "expected"),
    [
        # The seed's own example: five on the largest, one where the least is left over.
        (6, (5, 3, 2), {"c": 1, "a": 5}),
        (3, (5, 3, 2), {"b": 3}),
        (1, (1,), {"a": 1}),
        (2, (1, 1), {"a": 1, "b": 1}),
        # One host is better than two, and a full one better than a half-empty one.
        (2, (4, 2, 2), {"b": 2}),
        (3, (4, 2, 2), {"a": 3}),
        # The head is the smallest share; the others keep the inventory's order.
        (8, (2, 1, 5), {"b": 1, "a": 2, "c": 5}),
        (4, (2, 2), {"a": 2, "b": 2}),
        (10, (4, 4, 4), {"c": 2, "a": 4, "b": 4}),
        # Nothing left over is better than the largest host.
        (6, (5, 3, 3), {"b": 3, "c": 3}),
        (8, (7, 4, 4, 2), {"b": 4, "c": 4}),
        (6, (5, 5, 3, 3), {"c": 3, "d": 3}),
        # Equally little left over: the larger share first.
        (10, (5, 5, 7, 3), {"d": 3, "c": 7}),
    ],
)
def test_pack(np: int, free: tuple[int, ...], expected: dict[str, int]) -> None:
    placed = shares(place(SlotRequest(np), gpu_offers(*free)))
    assert (placed, next(iter(placed))) == (expected, next(iter(expected)))


@pytest.mark.parametrize(
    ("np", "free", "expected"),
    [
        (6, (5, 3, 2), {"a": 2, "b": 2, "c": 2}),
        (7, (5, 3, 2), {"b": 2, "a": 3, "c": 2}),
        (9, (5, 3, 2), {"c": 2, "a": 4, "b": 3}),
        (10, (5, 3, 2), {"c": 2, "a": 5, "b": 3}),
        # Fewer ranks than hosts: the first ones.
        (2, (5, 3, 2), {"a": 1, "b": 1}),
        # A host that is full does not keep the others from being even.
        (9, (1, 8, 8), {"a": 1, "b": 4, "c": 4}),
        (3, (0, 2, 2), {"c": 1, "b": 2}),
    ],
)
def test_spread(np: int, free: tuple[int, ...], expected: dict[str, int]) -> None:
    assert shares(place(SlotRequest(np, "spread"), gpu_offers(*free))) == expected


@pytest.mark.parametrize(
    ("np", "free", "expected"),
    [
        (6, (5, 3, 2), {"a": 3, "b": 3}),
        (6, (5, 2, 2), {"a": 2, "b": 2, "c": 2}),
        (5, (5, 3, 2), {"a": 5}),
        (3, (5, 3, 2), {"b": 3}),
        # The smallest hosts that have room.
        (8, (8, 5, 4, 4), {"a": 8}),
        (8, (7, 5, 4, 4), {"c": 4, "d": 4}),
    ],
)
def test_balanced(np: int, free: tuple[int, ...], expected: dict[str, int]) -> None:
    assert shares(place(SlotRequest(np, "balanced"), gpu_offers(*free))) == expected


def test_a_placement_names_its_devices_in_the_order_of_the_offer() -> None:
    offers = gpu_offers(5, 3, 2)
    placed = place(SlotRequest(6), offers)
    assert placed == Placement((Share("c", 1, ("c0",)), Share("a", 5, ("a0", "a1", "a2", "a3", "a4"))))


@pytest.mark.parametrize(
    ("strategy", "np", "offers", "expected"),
    [
        ("pack", 2, [gpus("a", "A100", "T4"), gpus("b", "T4", "T4")], "b0 b1"),
        # Of a mixed host the devices of one model, though others come first.
        ("pack", 2, [gpus("a", "T4", "A100", "A100")], "a1 a2"),
        ("pack", 2, [gpus("a", "T4", "A100", "A100", "T4")], "a0 a3"),
        # The rest of the job is of the model of the whole hosts.
        ("pack", 3, [gpus("a", "A100", "A100"), gpus("b", "T4", "A100")], "b1 a0 a1"),
        # Only one of the hosts has the rest.
        ("pack", 3, [gpus("a", "A100", "T4"), gpus("b", "A100", "T4"), gpus("c", "A100", "A100")],
         "a0 c0 c1"),
        ("spread", 4, [gpus("a", "T4", "A100", "A100"), gpus("b", "T4", "T4")], "a1 a2 b0 b1"),
        ("balanced", 4, [gpus("a", "T4", "A100", "A100"), gpus("b", "A100", "T4", "T4", "A100")],
         "b0 b1 b2 b3"),
        ("balanced", 6, [gpus("a", "T4", "A100", "A100", "A100"), gpus("b", "A100", "T4", "A100", "A100")],
         "a1 a2 a3 b0 b2 b3"),
    ],
)  # fmt: skip
def test_the_fewest_models(strategy: str, np: int, offers: list[Offer], expected: str) -> None:
    assert devices(place(SlotRequest(np, strategy), offers)) == expected


def test_the_fastest_links() -> None:
    links = {frozenset("ab"): 1e9, frozenset("ac"): 1e10, frozenset("bc"): 2.5e10}
    assert shares(place(SlotRequest(4), gpu_offers(2, 2, 2), links)) == {"b": 2, "c": 2}
    assert shares(place(SlotRequest(4), gpu_offers(2, 2, 2), {frozenset("ac"): 1e6})) == {"a": 2, "c": 2}
    assert shares(place(SlotRequest(4), gpu_offers(2, 2, 2))) == {"a": 2, "b": 2}
    assert shares(place(SlotRequest(4, "balanced"), gpu_offers(3, 3, 3), links)) == {"b": 2, "c": 2}


def test_links_come_behind_models_and_before_the_order() -> None:
    offers = [gpus("a", "A100"), gpus("b", "T4"), gpus("c", "A100"), gpus("d", "A100")]
    links = {frozenset("ab"): 1e11, frozenset("ac"): 1e9, frozenset("ad"): 1e10, frozenset("cd"): 1e9}
    assert devices(place(SlotRequest(2), offers, links)) == "a0 d0"


def test_links_of_hosts_that_are_not_there_say_nothing() -> None:
    links = {frozenset("xy"): 1e9, frozenset("x"): 1e9, frozenset("bx"): 1e10}
    assert shares(place(SlotRequest(2), gpu_offers(1, 1, 1), links)) == {"a": 1, "b": 1}


def test_a_job_is_on_gpus_where_there_are_any() -> None:
    offers = [cpus("a", 8), gpus("b", "T4", "T4"), gpus("c", "A100")]
    assert shares(place(SlotRequest(3), offers)) == {"c": 1, "b": 2}
    assert shares(place(SlotRequest(3, gpu=GpuRequest(is_none=True)), offers)) == {"a": 3}
    assert shares(place(SlotRequest(3, exclude=("b", "c")), offers)) == {"a": 3}


def test_a_job_is_on_processors_where_there_are_no_gpus() -> None:
    assert place(SlotRequest(3), [cpus("a", 2), cpus("b", 2)]) == Placement((Share("b", 1), Share("a", 2)))


def test_everything_is_all_that_fits() -> None:
    offers = [cpus("a", 8), gpus("b", "T4", "T4"), gpus("c", "A100")]
    assert shares(place(SlotRequest(), offers)) == {"c": 1, "b": 2}
    assert shares(place(SlotRequest(gpu=GpuRequest("T4")), offers)) == {"b": 2}
    assert shares(place(SlotRequest(gpu=GpuRequest(is_none=True)), offers)) == {"a": 8}
    # What is held of a kind that is not wanted keeps nobody from having all.
    assert shares(place(SlotRequest(), [cpus("a", 1, KIM), gpus("b", "T4")])) == {"b": 1}


def test_hosts_to_include_and_to_exclude() -> None:
    assert shares(place(SlotRequest(2, include=("b", "c")), gpu_offers(5, 3, 2))) == {"c": 2}
    assert shares(place(SlotRequest(2, include=("b", "c"), exclude=("c",)), gpu_offers(5, 3, 2))) == {"b": 2}
    assert shares(place(SlotRequest(exclude=("a",)), gpu_offers(5, 3, 2))) == {"c": 2, "b": 3}


def test_hosts_that_offer_nothing_may_be_named() -> None:
    """They may be away."""
    assert (
        place(SlotRequest(1, exclude=("z",)), gpu_offers(5, 3)).hosts == place(SlotRequest(1), gpu_offers(5, 3)).hosts
    )
    with pytest.raises(NotEnoughSlots, match="1 wanted, 0 free"):
        place(SlotRequest(1, include=("z",)), gpu_offers(5, 3))


def test_exactly_as_the_user_says() -> None:
    wanted = SlotRequest(exact=(Share("a", 2), Share("c", 1)))
    assert devices(place(wanted, gpu_offers(4, 4, 4))) == "c0 a0 a1"


def test_an_exact_placement_may_mix_kinds_and_still_has_few_models() -> None:
    offers = [cpus("a", 2), gpus("b", "T4", "A100", "A100")]
    wanted = (Share("a", 2), Share("b", 2))
    assert place(SlotRequest(exact=wanted), offers) == Placement((Share("a", 2), Share("b", 2, ("b1", "b2"))))
    assert (
        devices(place(SlotRequest(exact=wanted[1:], gpu=GpuRequest("T4")), [gpus("b", "A100", "T4", "T4")])) == "b1 b2"
    )


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        (SlotRequest(exact=(Share("z", 1),)), "-H names 'z', which is not in the inventory"),
        (SlotRequest(exact=(Share("a", 1),), exclude=("a",)), "-H names 'a', which is left out"),
        (SlotRequest(4, exact=(Share("a", 3),)), r"-np 4 and -H \(3 slots\) disagree"),
        # `-H a:1,10.0.0.11:1` names one host twice once its address is looked up.
        (SlotRequest(exact=(Share("a", 1), Share("a", 1))), "twice"),
        (SlotRequest(0), "at least 1"),
        (SlotRequest(-1, "spread"), "at least 1"),
        (SlotRequest(1, "tight"), "no strategy 'tight'"),
    ],
)
def test_what_cannot_be_meant(wanted: SlotRequest, what: str) -> None:
    with pytest.raises(UsageProblem, match=what):
        place(wanted, gpu_offers(4, 4))


def test_mig_slices_are_slots_like_any_other() -> None:
    slices = tuple(Slot(f"MIG-{n}", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9728) for n in range(3))
    placed = place(SlotRequest(2, gpu=GpuRequest("1g.10gb", 10240)), [Offer("a", slices)])
    assert devices(placed) == "MIG-0 MIG-1"
