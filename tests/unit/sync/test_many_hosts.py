"""Many hosts at once: one reading and packing for all that lack the same; who fails holds up nobody."""

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from hvdocker.errors import HostUnreachable, HvdockerError, UsageProblem
from hvdocker.shell.command import Command
from hvdocker.sync.commands import UNKNOWN_BASE
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.pack import StreamFiles
from hvdocker.sync.stream_sender import StreamSender
from hvdocker.sync.sync import SyncOptions, SyncReport, sync_all
from hvdocker.sync.tree import Changes, Tree
from hvdocker.sync.walk import read_tree
from hvdocker.transport.link import CommandResult
from hvdocker.transport.local_link import LocalLink
from hvdocker.transport.pool import HostOutcomes


class CountingTree(Tree):
    """Counts how often its index is packed, which is once per stream."""

    packed = 0

    def index(self, is_shared: bool = False) -> bytes:
        type(self).packed += 1
        return super().index(is_shared)


class MortalLink(LocalLink):
    """Dies after so many bytes of a delivery."""

    def __init__(self, name: str, dies_after: int | None = None) -> None:
        super().__init__(name)
        self.dies_after = dies_after

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
    ) -> CommandResult:
        if stdin is None or self.dies_after is None:
            return super().run(command, stdin, timeout_s)
        left = self.dies_after
        for chunk in stdin:
            left -= len(chunk)
            if left < 0:
                raise HostUnreachable("the connection was lost", host=self.name)
        raise AssertionError("it was to die before the end")


class Site:
    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root, self.here = root, root / "project"
        self.here.mkdir()
        self.links = {name: MortalLink(name) for name in names}

    def code(self, name: str) -> Path:
        return self.root / name / "code"

    def targets(self) -> dict[str, SyncTarget]:
        return {name: SyncTarget(link, str(self.code(name))) for name, link in self.links.items()}

    def sync(self, how: SyncOptions | None = None) -> HostOutcomes[SyncReport]:
        CountingTree.packed = 0
        tree = read_tree(self.here)
        return sync_all(self.targets(), CountingTree(tree.root, tree.entries), how)

    def held(self, name: str) -> list[str]:
        code = self.code(name)
        return sorted(path.relative_to(code).as_posix() for path in code.rglob("*") if path.is_file())


def test_hosts_that_lack_the_same_share_one_packing(tmp_path: Path) -> None:
    site = Site(tmp_path, "abcdefgh")
    for number in range(20):
        (site.here / f"{number}.py").write_text(str(number))
    assert {report.sent for report in site.sync().or_raise("").values()} == {20}
    assert CountingTree.packed == 1
    (site.code("c") / "3.py").unlink()
    (site.here / "0.py").write_text("changed")
    sent = {name: report.sent for name, report in site.sync().done.items()}
    assert sent == {**dict.fromkeys("abdefgh", 1), "c": 2}
    assert CountingTree.packed == 2
    assert {tuple(site.held(name)) for name in site.links} == {tuple(site.held("a"))}


def test_nothing_changed_packs_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, "ab")
    (site.here / "train.py").touch()
    site.sync()
    assert {report.sent for report in site.sync().done.values()} == {0}
    assert CountingTree.packed == 0


def test_more_hosts_than_are_fed_at_once(tmp_path: Path) -> None:
    site = Site(tmp_path, [f"h{number}" for number in range(10)])
    (site.here / "data.bin").write_bytes(os.urandom(3 << 20))
    tree = read_tree(site.here)
    stream_files = StreamFiles(Changes(("data.bin",)), ("data.bin",))
    bases = dict.fromkeys(site.targets(), UNKNOWN_BASE)
    how = SyncOptions()
    courier = StreamSender(site.targets(), tree, {False: tree.id()}, bases, "token", how.progress, how.on_interrupt, 3)
    assert set(courier.send(dict.fromkeys(site.links, stream_files)).or_raise("")) == set(site.links)
    assert {tuple(site.held(name)) for name in site.links} == {("data.bin",)}


def test_a_host_that_dies_under_way_holds_up_nobody(tmp_path: Path) -> None:
    site = Site(tmp_path, "abc")
    (site.here / "data.bin").write_bytes(os.urandom(7 << 20))
    site.links["b"].dies_after = 1 << 20
    outcomes = site.sync()
    assert set(outcomes.done) == {"a", "c"}
    assert [str(error) for error in outcomes.failed.values()] == ["b: the connection was lost"]
    assert site.held("a") == site.held("c") == ["data.bin"]
    assert site.held("b") == []


def test_a_host_that_cannot_be_asked_stops_all_before_anything_is_sent(tmp_path: Path) -> None:
    site = Site(tmp_path, "ab")
    (site.here / "train.py").touch()

    class Deaf(MortalLink):
        def run(
            self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
        ) -> CommandResult:
            raise HostUnreachable("no route")

    site.links["b"] = Deaf("b")
    outcomes = site.sync()
    assert (set(outcomes.done), set(outcomes.failed)) == (set(), {"b"})
    assert site.held("a") == []


@pytest.mark.parametrize("change", ["grows in front", "shrinks", "same size", "goes"])
def test_a_file_that_changes_under_it_is_named_and_no_host_takes_it(tmp_path: Path, change: str) -> None:
    site = Site(tmp_path, "ab")
    log = site.here / "log.txt"
    log.write_text("0123456789")
    (site.here / "train.py").write_text("old")
    site.sync()
    log.write_text("9876543210")
    (site.here / "train.py").write_text("new")
    tree = read_tree(site.here)
    if change == "goes":
        log.unlink()
    else:
        log.write_text({"grows in front": "19876543210", "shrinks": "98765", "same size": "0000000000"}[change])
    with pytest.raises(UsageProblem, match=r"log.txt changed while it was being synced") as caught:
        sync_all(site.targets(), tree)
    assert caught.value.host is None and caught.value.fix
    for name in site.links:
        assert (site.code(name) / "log.txt").read_text() == "0123456789"
        assert (site.code(name) / "train.py").read_text() == "old"
        assert not (site.code(name).with_name("code.sync") / "in").exists()


def test_progress_that_raises_ends_every_transfer(tmp_path: Path) -> None:
    """Ctrl-C comes this way."""
    site = Site(tmp_path, "ab")
    (site.here / "data.bin").write_bytes(os.urandom(4 << 20))
    raised = threading.Event()

    def stop(host: str, done: int, total: int) -> None:
        raised.set()
        raise HvdockerError("stopped")

    outcomes = site.sync(SyncOptions(progress=stop))
    assert raised.is_set()
    assert {str(error) for error in outcomes.failed.values()} == {"a: stopped", "b: stopped"}
    assert site.held("a") == site.held("b") == []
