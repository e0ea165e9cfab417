"""Runners-up and why they lost."""

import random

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import SlotRequest
from hvdocker.placement.strategies import explain, place
from hvdocker.placement.strategies.score import PlacementScorer
from hvdocker.protocol.placement import Share
from tests.unit.placement.strategies.build_offers import cpus, gpu_offers, gpus, shares
from tests.unit.placement.strategies.test_optimal import links_of, offers_of, request_of


def lost(request: SlotRequest, *rest: object) -> dict[str, tuple[dict[str, int], str]]:
    told = explain(request, *rest)  # type: ignore[arg-type]  # as they are
    return {runner.how: (shares(runner.placement), runner.lost_by) for runner in told.runners_up}


def test_the_seeds_case() -> None:
    told = explain(SlotRequest(6), gpu_offers(5, 3, 2))
    assert (told.strategy, shares(told.winner)) == ("pack", {"c": 1, "a": 5})
    assert told.merits == {
        "hosts": "2", "left over": "1", "shares": "5 + 1", "models": "1",
    }  # fmt: skip
    assert lost(SlotRequest(6), gpu_offers(5, 3, 2)) == {
        "without c": ({"b": 1, "a": 5}, "leaves 2 slots over on its hosts, not 1"),
        "balanced": ({"a": 3, "b": 3}, "leaves 2 slots over on its hosts, not 1"),
        "spread": ({"a": 2, "b": 2, "c": 2}, "needs 3 hosts, not 2"),
    }
    assert told.impossible == ("without a",)


def test_every_criterion_has_its_words() -> None:
    assert lost(SlotRequest(4), gpu_offers(3, 2, 2, 1)) == {
        "without d, without a, balanced": ({"b": 2, "c": 2}, "its shares are 2 + 2, not 3 + 1"),
        "spread": ({"a": 1, "b": 1, "c": 1, "d": 1}, "needs 4 hosts, not 2"),
    }
    mixed = [gpus("a", "A100", "T4"), gpus("b", "T4", "T4")]
    assert lost(SlotRequest(2), mixed)["without b"] == ({"a": 2}, "mixes 2 GPU models (A100, T4), not 1")
    links = {frozenset("ab"): 1e10, frozenset("ac"): 2.5e9}
    assert lost(SlotRequest(2), gpu_offers(1, 1, 1), links) == {
        "without b": ({"a": 1, "c": 1}, "its slowest link has 2.5 Gbit/s, not 10.0 Gbit/s"),
        "without a": ({"b": 1, "c": 1}, "its slowest link has an unknown speed, not 10.0 Gbit/s"),
    }
    assert explain(SlotRequest(2), gpu_offers(1, 1, 1), links).merits["links"] == "10.0 Gbit/s"
    order = "comes later in the inventory's order: b:1, not a:1"
    assert lost(SlotRequest(1), gpu_offers(1, 1)) == {"without a": ({"b": 1}, order)}


def test_other_strategies_are_judged_by_the_one_that_was_asked_for() -> None:
    assert lost(SlotRequest(6, "spread"), gpu_offers(5, 3, 2))["pack"] == (
        {"c": 1, "a": 5},
        "its shares are 5 + 1, not 2 + 2 + 2",
    )
    assert lost(SlotRequest(6, "balanced"), gpu_offers(5, 3, 2))["pack"] == (
        {"c": 1, "a": 5},
        "its shares are unequal: 5 + 1, not 3 + 3",
    )
    assert "balanced" in explain(SlotRequest(7), gpu_offers(5, 3, 2)).impossible


def test_a_job_on_gpus_has_no_rival_on_processors() -> None:
    told = explain(SlotRequest(2), [gpus("a", "T4", "T4"), cpus("b", 2)])
    assert (told.runners_up, told.impossible) == ((), ("without a",))


def test_an_exact_placement_has_no_rivals_but_strategies() -> None:
    told = explain(SlotRequest(exact=(Share("a", 1), Share("b", 1))), [cpus("a", 2), cpus("b", 2)])
    assert (told.strategy, shares(told.winner), told.merits) == ("exact", {"a": 1, "b": 1}, {})
    assert [(runner.how, runner.lost_by) for runner in told.runners_up] == [("pack, balanced", "not what -H says")]


def test_all_of_it_and_very_many_hosts() -> None:
    assert explain(SlotRequest(), gpu_offers(1, 1)).runners_up == ()
    assert len(explain(SlotRequest(300), [cpus(f"h{n}", 5) for n in range(400)]).runners_up) == 13


def test_no_runner_up_is_better_than_the_winner() -> None:
    """Each lost by something: the judge of `explain` and the search agree on who is best."""
    dice = random.Random(5)
    told = 0
    for _ in range(600):
        strategy = dice.choice(("pack", "spread", "balanced"))
        offers = offers_of(dice, 5, 10, "ABC", has_cpus=dice.random() < 0.3)
        request, links = request_of(dice, strategy, offers, "ABC"), links_of(dice, offers)
        try:
            explanation = explain(request, offers, links)
        except NotEnoughSlots:
            continue
        assert explanation.winner == place(request, offers, links)
        judge = PlacementScorer(strategy, request, offers, links)
        best = judge.score(explanation.winner).key
        for runner in explanation.runners_up:
            assert judge.score(runner.placement).key > best and ", not " in runner.lost_by, explanation
        told += len(explanation.runners_up)
    assert told > 300
