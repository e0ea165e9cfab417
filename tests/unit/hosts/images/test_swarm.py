"""Who feeds whom."""

from typing import Any

from hvdocker.commands.feed import Ability
from hvdocker.commands.image_parts import ImageContent, Layer
from hvdocker.hosts.images.load import Present
from hvdocker.hosts.images.swarm import FEWEST_BYTES, Member, _arranged, is_worth_it

LAYERS = (Layer("sha256:a", FEWEST_BYTES), Layer("sha256:b", 10))
IMAGE = ImageContent("x:y", b"{}", LAYERS)
NO_LINK: Any = None


def member(name: str, has: int = 0, room: int = 1 << 40) -> Member:
    return Member(name, NO_LINK, Present(has), Ability(True, room_bytes=room), "10.0.0.1")


def test_feeding_begins_with_four_hosts_that_lack_enough() -> None:
    three = [member(name) for name in "abc"]
    assert not is_worth_it(three, IMAGE)
    assert is_worth_it([*three, member("d", has=1)], IMAGE)
    assert not is_worth_it([member(name, has=1) for name in "abcd"], IMAGE)


def test_hosts_keep_their_order_and_feed_two_each() -> None:
    nodes = _arranged([member(name) for name in "abcdefgh"], IMAGE)
    assert [node.member.name for node in nodes] == list("abcdefgh")
    assert [node.member.name for node in nodes if node.is_feeding] == list("abcd")


def test_a_host_is_fed_only_by_one_that_lacks_as_much() -> None:
    """It can pass on only what it receives itself; one that wants every layer comes before all others."""
    stored = Member("s", NO_LINK, Present(0, is_containerd=True), Ability(True, room_bytes=1 << 40), "")
    nodes = _arranged([member("a", has=1), member("b"), stored, member("c", has=1)], IMAGE)
    assert [node.member.name for node in nodes] == ["b", "s", "a", "c"]
    assert [len(node.layers) for node in nodes] == [2, 2, 1, 1]


def test_a_host_without_room_feeds_nobody() -> None:
    nodes = _arranged([member("a", room=10), *(member(name) for name in "bcd")], IMAGE)
    assert nodes[-1].member.name == "a" and not nodes[-1].is_feeding
    assert not any(node.is_feeding for node in _arranged([member(name, room=10) for name in "abcd"], IMAGE))


def test_bytes_before_a_layer() -> None:
    node = _arranged([member("a"), member("b")], IMAGE)[0]
    assert (node.before("a"), node.before("b"), node.size) == (0, FEWEST_BYTES, FEWEST_BYTES + 10)
