import pytest

from hvdocker.errors import ExitCode, NotEnoughSlots, UsageProblem
from hvdocker.model.placement import (
    Placement,
    Share,
    Slots,
    from_label,
    parse_hosts_flag,
    place,
    place_exactly,
)


def hosts(*totals: int, **held: dict[str, int]) -> list[Slots]:
    return [Slots(name, total, held.get(name, {})) for name, total in zip("abcdefgh", totals, strict=False)]


def shares(**slots: int) -> Placement:
    return Placement(tuple(Share(host, count) for host, count in slots.items()))


@pytest.mark.parametrize(
    ("np", "totals", "placement"),
    [
        # The seed's own example: five on the largest, one where the least is left over.
        (6, (5, 3, 2), shares(c=1, a=5)),
        (1, (1,), shares(a=1)),
        (2, (1, 1), shares(a=1, b=1)),
        # One host is better than two, and a full one better than a half-empty one.
        (2, (4, 2, 2), shares(b=2)),
        (3, (4, 2, 2), shares(a=3)),
        # The head is the smallest share; the others keep the inventory's order.
        (8, (2, 1, 5), shares(b=1, a=2, c=5)),
        (4, (2, 2), shares(a=2, b=2)),
        (10, (4, 4, 4), shares(c=2, a=4, b=4)),
    ],
)
def test_fewest_hosts_then_fewest_left_over_then_inventory_order(
    np: int, totals: tuple[int, ...], placement: Placement
) -> None:
    assert place(np, hosts(*totals)) == placement


def test_held_slots_are_not_given_again() -> None:
    assert place(2, hosts(4, 2, a={"job-aaaa": 3})) == shares(b=2)
    assert place(3, hosts(4, 2, a={"job-aaaa": 3})) == shares(a=1, b=2)


def test_a_host_on_which_more_is_held_than_it_has_is_left_out() -> None:
    assert place(2, hosts(1, 2, a={"job-aaaa": 2})) == shares(b=2)


def test_too_few_slots_names_who_holds_them() -> None:
    with pytest.raises(NotEnoughSlots) as caught:
        place(5, hosts(4, 2, 1, a={"train-aaaa": 1, "eval-bbbb": 2}, c={"train-aaaa": 1}))
    error = caught.value
    assert error.what == "5 slots wanted, 3 of 7 free"
    assert error.lines == (
        "a: 1 of 4 free, 1 held by train-aaaa, 2 held by eval-bbbb",
        "b: 2 of 2 free",
        "c: 0 of 1 free, 1 held by train-aaaa",
    )
    assert error.fix and error.exit_code == ExitCode.NO_SLOTS


@pytest.mark.parametrize("np", [0, -1])
def test_at_least_one_rank(np: int) -> None:
    with pytest.raises(UsageProblem, match="at least 1"):
        place(np, hosts(2))


def test_what_follows_from_a_placement() -> None:
    placement = shares(c=1, a=2)
    assert (placement.head, placement.np, placement.hosts) == ("c", 3, ("c", "a"))
    assert placement.host_of_rank() == ("c", "a", "a")
    assert placement.label() == '{"c":1,"a":2}'


def test_a_label_round_trip_keeps_the_order() -> None:
    assert from_label(shares(c=1, a=5, b=2).label()) == shares(c=1, a=5, b=2)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"a": "x"}', '{"a": null}', "null"])
def test_a_damaged_label_is_an_empty_placement(text: str) -> None:
    assert from_label(text) == Placement(())


def test_horovods_own_hosts_flag() -> None:
    assert parse_hosts_flag("a:2, b:1", "a") == [Share("a", 2), Share("b", 1)]


def test_localhost_means_the_head() -> None:
    assert parse_hosts_flag("localhost:4,b:1", "a") == [Share("a", 4), Share("b", 1)]


@pytest.mark.parametrize("text", ["a", "a:", ":2", "a:0", "a:-1", "a:two", "a:1,", "", "a:1,,b:1", "a:2,a:1"])
def test_a_hosts_flag_that_says_nothing_clear(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_hosts_flag(text, "a")


def test_localhost_and_the_heads_own_name_are_the_same_host() -> None:
    with pytest.raises(UsageProblem, match="twice"):
        parse_hosts_flag("localhost:1,a:1", "a")


def test_an_exact_placement_puts_the_smallest_share_first() -> None:
    assert place_exactly([Share("a", 2), Share("c", 1)], 3, hosts(4, 4, 4)) == shares(c=1, a=2)


def test_an_exact_placement_needs_hosts_of_the_inventory() -> None:
    with pytest.raises(UsageProblem, match="'z', which is not in the inventory") as caught:
        place_exactly([Share("z", 1)], None, hosts(1, 1))
    assert caught.value.fix == "hosts are a, b"


def test_an_exact_placement_needs_free_slots() -> None:
    with pytest.raises(NotEnoughSlots, match="2 slots wanted, 1 of 2 free") as caught:
        place_exactly([Share("b", 2)], None, hosts(4, 2, b={"job-aaaa": 1}))
    assert caught.value.lines == ("b: 1 of 2 free, 1 held by job-aaaa",)


def test_np_and_an_exact_placement_have_to_agree() -> None:
    with pytest.raises(UsageProblem, match=r"-np 4 and -H \(3 slots\) disagree"):
        place_exactly([Share("a", 3)], 4, hosts(4))


def test_the_same_host_under_two_names_does_not_lose_ranks() -> None:
    """`-H a:1,10.0.0.11:1` names one host twice once its address is looked up."""
    with pytest.raises(UsageProblem, match="twice"):
        place_exactly([Share("a", 1), Share("a", 1)], None, hosts(2))
