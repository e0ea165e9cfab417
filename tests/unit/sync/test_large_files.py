"""Large files are sent one by one, before the stream: to this machine as a host."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.shell.command import Command
from hvdocker.sync import hash_cache, large_files
from hvdocker.sync.codec import Codec
from hvdocker.sync.file_errors import CodeChanged
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import SyncOptions, sync_all
from hvdocker.sync.tree import Entry, Tree
from hvdocker.sync.walk import read_tree
from hvdocker.transport.link import CommandResult, LargeInput
from hvdocker.transport.local_link import LocalLink

MB = 1 << 20
NAME = "a folder/-it's\na large.bin"
CONTENT = os.urandom(MB) * 9


class WatchedLink(LocalLink):
    """This machine as a host. `whole_files` has the files that were sent one by one; `cut` cuts them off."""

    def __init__(self, name: str = "a", cut: bool = False) -> None:
        super().__init__(name)
        self.whole_files: list[Path] = []
        self.cut = cut

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
    ) -> CommandResult:
        if isinstance(stdin, LargeInput) and stdin.path:
            self.whole_files.append(stdin.path)
            stdin = list(stdin)[:-1] if self.cut else stdin
        return super().run(command, stdin, timeout_s)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(large_files, "MIN_TOTAL_BYTES", 8 * MB)
    monkeypatch.setattr(hash_cache, "_SETTLED_NS", -(10**12))
    path = tmp_path / "project" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    path.chmod(0o750)
    os.utime(path, (1_600_000_000, 1_600_000_000.5))
    (tmp_path / "project" / "train.py").write_text("x")
    return tmp_path / "project"


def sync(project: Path, *links: LocalLink, how: SyncOptions | None = None) -> None:
    targets = {link.name: SyncTarget(link, str(project.parent / link.name / "code")) for link in links}
    how = how or SyncOptions(choose=lambda speed: Codec.NONE)
    sync_all(targets, read_tree(project), how).or_raise("sync failed")


def test_a_large_file_arrives_as_it_is_on_every_host(project: Path) -> None:
    links = [WatchedLink("a"), WatchedLink("b")]
    shown: list[tuple[str, int, int]] = []
    options = SyncOptions(choose=lambda speed: Codec.NONE, progress=lambda *told: shown.append(told))
    sync(project, *links, how=options)
    for link in links:
        there = project.parent / link.name / "code"
        found = (there / NAME).stat()
        assert (there / NAME).read_bytes() == CONTENT and (there / "train.py").read_text() == "x"
        assert stat.S_IMODE(found.st_mode) == 0o750 and int(found.st_mtime) == 1_600_000_000
        assert link.whole_files == [project / NAME]
        done = [amount for name, amount, _ in shown if name == link.name]
        assert done == sorted(done) and done[-1] == 9 * MB + 1
    sync(project, *links)
    assert [len(link.whole_files) for link in links] == [1, 1], "an unchanged file was sent again"


def test_a_file_that_is_cut_off_takes_no_place_and_leaves_nothing(project: Path) -> None:
    with pytest.raises(HvdockerError, match="writing the code failed"):
        sync(project, WatchedLink(cut=True))
    there = project.parent / "a"
    assert not (there / "code" / "train.py").exists() and not (there / "code" / NAME).exists()
    assert not list((there / "code.sync").glob("in.*"))
    sync(project, WatchedLink())
    assert (there / "code" / NAME).read_bytes() == CONTENT


def test_a_file_that_changes_while_it_is_sent_is_named_and_not_taken(project: Path) -> None:
    def rewrite(name: str, done: int, total: int) -> None:
        if MB < done < 9 * MB:
            with (project / NAME).open("r+b") as file:
                file.write(b"later")

    with pytest.raises(CodeChanged, match="changed while it was being synced"):
        sync(project, WatchedLink(), how=SyncOptions(choose=lambda speed: Codec.NONE, progress=rewrite))
    assert not (project.parent / "a" / "code" / NAME).exists()


@pytest.mark.parametrize(
    ("codec", "size", "is_settled", "is_large"),
    [
        (Codec.NONE, 1 << 30, True, True),
        (Codec.NONE, 1 << 20, True, False),
        (Codec.NONE, 1 << 30, False, False),
        (Codec.ZSTD, 1 << 30, True, False),
    ],
)
def test_which_files_are_sent_one_by_one(codec: Codec, size: int, is_settled: bool, is_large: bool) -> None:
    entry = Entry("a", size=size, stat=(size, 1, 1, 1) if is_settled else None)
    found = large_files.split_large(Tree(Path("/x"), {"a": entry}), ("a",), codec)
    assert found == ((("a",), ()) if is_large else ((), ("a",)))
