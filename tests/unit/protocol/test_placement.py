import pytest

from hvdocker.protocol.placement import Placement, Share, placement_from_label


def shares(**slots: int) -> Placement:
    return Placement(tuple(Share(host, count) for host, count in slots.items()))


def test_what_follows_from_a_placement() -> None:
    placement = shares(c=1, a=2)
    assert (placement.head, placement.np, placement.hosts) == ("c", 3, ("c", "a"))
    assert placement.host_of_rank() == ("c", "a", "a")
    assert placement.label() == '{"c":1,"a":2}'


def test_a_label_round_trip_keeps_the_order() -> None:
    assert placement_from_label(shares(c=1, a=5, b=2).label()) == shares(c=1, a=5, b=2)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"a": "x"}', '{"a": null}', "null"])
def test_a_damaged_label_is_an_empty_placement(text: str) -> None:
    assert placement_from_label(text) == Placement(())


def test_a_label_names_the_devices_that_are_held() -> None:
    held = Placement((Share("c", 1), Share("a", 2, ("GPU-1", "GPU-7"))))
    assert held.label() == '{"c":1,"a":["GPU-1","GPU-7"]}'
    assert placement_from_label(held.label()) == held
    assert (held.devices_on("a"), held.devices_on("c"), held.devices_on("z")) == (("GPU-1", "GPU-7"), (), ())
