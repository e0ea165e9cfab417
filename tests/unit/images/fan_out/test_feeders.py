"""Who feeds whom."""

from typing import Any

from hvdocker.images.fan_out.capabilities import FeedCapabilities
from hvdocker.images.fan_out.feeders import FanOutHost, arrange_tree, is_fan_out_worthwhile
from hvdocker.images.ship.load import LayersPresent
from hvdocker.images.ship.resumable_parts import ExportedImage, ImageLayer

MIB = 1 << 20
LARGE = 33 * MIB
LAYERS = (ImageLayer("sha256:a", LARGE), ImageLayer("sha256:b", 10))
IMAGE = ExportedImage("x:y", b"{}", LAYERS)
NO_LINK: Any = None


def member(name: str, has: int = 0, room: int = 1 << 40) -> FanOutHost:
    return FanOutHost(name, NO_LINK, LayersPresent(has), FeedCapabilities(True, feed_disk_bytes=room), "10.0.0.1")


def test_feeding_begins_with_four_hosts_that_lack_enough() -> None:
    assert not is_fan_out_worthwhile([member(name) for name in "abc"], IMAGE)
    assert is_fan_out_worthwhile([member(name) for name in "abcd"], IMAGE)
    assert not is_fan_out_worthwhile([member(name, has=1) for name in "abcd"], IMAGE)


def test_a_middling_layer_for_many_hosts_leaves_this_machine_once() -> None:
    image = ExportedImage("x:y", b"{}", (ImageLayer("sha256:a", 31 * MIB),))
    assert not is_fan_out_worthwhile([member(name) for name in "abcd"], image)
    assert is_fan_out_worthwhile([member(name) for name in "abcdefgh"], image)


def test_hosts_that_lack_nothing_do_not_count() -> None:
    image = ExportedImage("x:y", b"{}", (ImageLayer("sha256:a", 500 * MIB),))
    assert not is_fan_out_worthwhile([*(member(name) for name in "abc"), member("d", has=1)], image)


def test_hosts_keep_their_order_and_feed_two_each() -> None:
    nodes = arrange_tree([member(name) for name in "abcdefgh"], IMAGE)
    assert [node.member.name for node in nodes] == list("abcdefgh")
    assert [node.member.name for node in nodes if node.is_feeding] == list("abcd")


def test_a_host_is_fed_only_by_one_that_lacks_as_much() -> None:
    """It can pass on only what it receives itself; one that wants every layer comes before all others."""
    stored = FanOutHost(
        "s",
        NO_LINK,
        LayersPresent(0, is_containerd=True),
        FeedCapabilities(True, feed_disk_bytes=1 << 40),
        "",
    )
    nodes = arrange_tree([member("a", has=1), member("b"), stored, member("c", has=1)], IMAGE)
    assert [node.member.name for node in nodes] == ["b", "s", "a", "c"]
    assert [len(node.layers) for node in nodes] == [2, 2, 1, 1]


def test_a_host_without_room_feeds_nobody() -> None:
    nodes = arrange_tree([member("a", room=10), *(member(name) for name in "bcd")], IMAGE)
    assert nodes[-1].member.name == "a" and not nodes[-1].is_feeding
    assert not any(node.is_feeding for node in arrange_tree([member(name, room=10) for name in "abcd"], IMAGE))


def test_room_on_the_engines_own_disk_counts_once() -> None:
    """Passing on takes 36 MiB, loading 68 MiB more, and both come from the same bytes."""
    for room, is_feeding in ((100 * MIB, False), (110 * MIB, True)):
        able = FeedCapabilities(True, engine_disk_bytes=room, feed_disk_bytes=room, is_one_disk=True)
        nodes = arrange_tree([FanOutHost(name, NO_LINK, LayersPresent(0), able, "") for name in "abcd"], IMAGE)
        assert nodes[0].is_feeding == is_feeding
    assert arrange_tree([member(name, room=100 * MIB) for name in "abcd"], IMAGE)[0].is_feeding


def test_bytes_before_a_layer() -> None:
    node = arrange_tree([member("a"), member("b")], IMAGE)[0]
    assert (node.bytes_before("a"), node.bytes_before("b"), node.size) == (0, LARGE, LARGE + 10)
