"""A host that cannot be fed, or cannot feed, is sent the image from here, unless its engine said no."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError, Interrupted
from hvdocker.images.fan_out.capabilities import FeedCapabilities
from hvdocker.images.fan_out.fan_out import FanOut, Tell
from hvdocker.images.fan_out.feeders import FanOutHost
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.load import LayersPresent
from hvdocker.images.ship.resumable_parts import ExportedImage, ImageLayer
from hvdocker.shell.command import Command
from tests.unit.fakes import FakeLink

BODY = b"layer " * 100
LAYER = ImageLayer("sha256:" + "a" * 64, len(BODY))
IMAGE = ExportedImage("x:y", b"{}", (LAYER,))
Reply = tuple[int, bytes, bytes]
FINE: Reply = (0, b"", b"")
# A script's words, by which it is known.
KINDS = {
    '"$1/load"': "load",
    '"$1/fetch"': "fetch",
    'cat > "$1/$2"': "store",
    "mkdir --": "unpack",
    "setpriv": "start",
    '"$1/loading"': "stop",
}


def kind(command: Command) -> str:
    if command.argv[0] != "sh":
        return {"rm": "clear", "cat": "progress"}[command.argv[0]]
    return next(name for words, name in KINDS.items() if words in command.argv[2])


class Host(FakeLink):
    """Answers by the kind of command; a load waits for whatever it is told to wait for."""

    def __init__(self, name: str, **replies: Any) -> None:
        super().__init__(name, self.reply)
        self.replies: Mapping[str, Any] = {"start": (0, b"20001\n", b""), **replies}
        self.done = {what: threading.Event() for what in ("store", "clear")}
        self.load_waits_for = ""

    def reply(self, command: Command, stdin: bytes) -> Reply:
        what = kind(command)
        if what in self.done:
            self.done[what].set()
        if what == "load" and self.load_waits_for:
            assert self.done[self.load_waits_for].wait(30)
        given = self.replies.get(what, FINE)
        if isinstance(given, list):
            given = given.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given  # type: ignore[no-any-return]  # as the test gave it

    @property
    def did(self) -> list[str]:
        return [kind(command) for command, _ in self.ran if kind(command) not in ("unpack", "start", "progress")]


def quiet(host: str, done: int, total: int, source: str) -> None:
    pass


def fan_out_of(hosts: list[Host], cache: Path, tell: Tell = quiet) -> FanOut:
    kept = LayerCache(cache)
    with kept.draft() as draft:
        draft.write(BODY)
        kept.keep(draft, LAYER.digest)
    able = FeedCapabilities(True, "ann", feed_disk_bytes=1 << 40)
    links: list[Any] = hosts  # Any: they stand in for HostLinks
    members = [
        FanOutHost(host.name, link, LayersPresent(0), able, "10.0.0.1") for host, link in zip(hosts, links, strict=True)
    ]
    return FanOut(members, IMAGE, kept, tell)


def cut(status: int) -> Reply:
    return 1, f"cut {status}\n".encode(), b"Error processing tar file(exit status 1): unexpected EOF"


def test_the_first_host_gets_layers_from_here_and_the_others_from_it(tmp_path: Path) -> None:
    hosts = [Host(name) for name in "abcd"]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert [fan_out.deliver(host.name) for host in hosts] == [True] * 4
    # Nodes 0 and 1 feed; what they load are their own files.
    assert sorted(hosts[0].did) == ["load", "stop", "store"]
    assert sorted(hosts[1].did) == ["fetch", "load", "stop"]
    assert [host.did for host in hosts[2:]] == [["load", "stop"]] * 2


def test_a_disk_that_fills_while_a_layer_is_stored_is_no_error(tmp_path: Path) -> None:
    """Its load, which waits for the layer, is ended, and nobody below waits for it either."""
    full = (1, b"", b"cat: write error: No space left on device")
    hosts = [Host("a", store=full, load=cut(1)), *(Host(name) for name in "bcd")]
    hosts[0].load_waits_for = "clear"
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert fan_out.deliver("a") is False
        assert fan_out.deliver("c") is False
    assert "clear" in hosts[0].did and hosts[0].done["clear"].is_set()
    assert hosts[2].did == ["stop"]


@pytest.mark.parametrize(
    "said",
    [
        b"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        b"sudo: a password is required",
        b"open /var/lib/docker/tmp/docker-import-1/" + b"a" * 64 + b".tar: no such file or directory",
        b"",
    ],
    ids=["another socket", "sudo", "a layer went", "nothing said"],
)
@pytest.mark.parametrize("name", ["a", "c"], ids=["feeding", "fed"])
def test_whatever_is_not_the_engines_own_word_lets_this_machine_send(tmp_path: Path, said: bytes, name: str) -> None:
    hosts = [Host(each, load=(1, b"", said)) for each in "abcd"]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert fan_out.deliver(name) is False


@pytest.mark.parametrize("name", ["a", "c"], ids=["feeding", "fed"])
@pytest.mark.parametrize("out", [b"", b"cut 141\n"], ids=["whole", "cut off by the engine"])
def test_an_engine_without_space_is_an_error(tmp_path: Path, name: str, out: bytes) -> None:
    hosts = [Host(each, load=(1, out, b"write /layer: no space left on device")) for each in "abcd"]
    with fan_out_of(hosts, tmp_path) as fan_out, pytest.raises(HostUnfit, match="the disk is full"):
        fan_out.deliver(name)


@pytest.mark.parametrize("name", ["a", "c"], ids=["feeding", "fed"])
def test_what_the_engine_refuses_is_an_error(tmp_path: Path, name: str) -> None:
    hosts = [Host(each, load=(1, b"", b"Error response from daemon: no")) for each in "abcd"]
    with fan_out_of(hosts, tmp_path) as fan_out, pytest.raises(HvdockerError, match="loading x:y failed"):
        fan_out.deliver(name)


def test_a_feed_that_one_host_did_not_get_to_is_not_tried_by_the_next(tmp_path: Path) -> None:
    hosts = [Host("a"), Host("b", fetch=(255, b"", b"")), *(Host(name) for name in "cd")]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert fan_out.deliver("b") is True
        assert fan_out.deliver("c") is False
        assert fan_out.deliver("d") is True
    assert sorted(hosts[1].did) == ["fetch", "load", "stop", "store"]
    assert hosts[2].did == ["stop"]


def test_a_feed_that_another_host_got_to_is_tried_all_the_same(tmp_path: Path) -> None:
    """The trouble is then with the host that did not, and not with the feed."""
    hosts = [Host("a"), Host("b"), Host("c", load=cut(255)), Host("d", load=[cut(1), FINE])]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert [fan_out.deliver(name) for name in "bcd"] == [True, False, True]
    assert hosts[3].did == ["load", "load", "stop"]


def test_a_host_that_no_feed_can_give_it_all_is_sent_the_image(tmp_path: Path) -> None:
    hosts = [Host("a"), Host("b"), Host("c"), Host("d", load=[cut(1), cut(255)])]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert fan_out.deliver("d") is False
    assert hosts[3].did == ["load", "load", "stop"]


def test_a_load_that_waited_too_long_is_run_once_more(tmp_path: Path) -> None:
    """By then the layers are there: they need not leave this machine a second time."""
    hosts = [Host("a", load=[cut(1), FINE]), *(Host(name) for name in "bcd")]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert fan_out.deliver("a") is True
    assert hosts[0].did.count("load") == 2


def test_a_host_that_is_gone_is_an_error(tmp_path: Path) -> None:
    hosts = [Host("a", store=HostUnreachable("gone")), *(Host(name) for name in "bcd")]
    with fan_out_of(hosts, tmp_path) as fan_out, pytest.raises(HostUnreachable):
        fan_out.deliver("a")


def test_an_interrupt_is_no_failure_of_a_host(tmp_path: Path) -> None:
    def interrupt(host: str, done: int, total: int, source: str) -> None:
        raise Interrupted("interrupted")

    hosts = [Host(name) for name in "abcd"]
    with fan_out_of(hosts, tmp_path, interrupt) as fan_out, pytest.raises(Interrupted):
        fan_out.deliver("a")
    assert all(host.did[-1] == "stop" for host in hosts)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError()], ids=["Ctrl-C", "a bug"])
def test_what_ends_while_feeds_are_set_up_leaves_none_behind(tmp_path: Path, error: BaseException) -> None:
    hosts = [Host("a"), Host("b", unpack=error), Host("c"), Host("d")]
    with pytest.raises(type(error)), fan_out_of(hosts, tmp_path):
        pytest.fail("it was not set up")
    assert [host.did for host in hosts] == [["stop"]] * 4


def test_a_host_that_cannot_be_set_up_is_sent_the_image(tmp_path: Path) -> None:
    hosts = [Host("a", unpack=(1, b"", b"read-only file system")), *(Host(name) for name in "bcd")]
    with fan_out_of(hosts, tmp_path) as fan_out:
        assert fan_out.deliver("a") is False
