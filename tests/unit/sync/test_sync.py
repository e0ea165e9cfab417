"""Sync against this machine as a host: real tar, real sha256sum, a folder of the test's own."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.shell.command import Command
from hvdocker.sync.codec import Codec, LinkSpeed
from hvdocker.sync.hash_cache import HashCache
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.sync import SyncOptions, SyncReport, sync_all, sync_host
from hvdocker.sync.walk import read_tree
from hvdocker.transport.link import CommandResult
from tests.unit.fakes import FakeLink, RecordingLink


class Pair:
    """A folder here and its copy on the host."""

    def __init__(self, root: Path) -> None:
        self.here, self.there = root / "project", root / "host" / "code"
        self.here.mkdir()
        self.there.parent.mkdir()
        self.state = self.there.with_name("code.sync")
        self.link = RecordingLink()

    def write(self, name: str, text: str = "x") -> Path:
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def sync(self) -> SyncReport:
        return sync_host(self.link, read_tree(self.here), str(self.there))

    def names(self) -> list[str]:
        return listed(self.there)


def listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not is_real_folder(path))


def is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_the_first_sync_brings_everything(pair: Pair) -> None:
    pair.write("train.py", "print('hi')")
    pair.write("pkg/deep/model.py", "")
    report = pair.sync()
    assert pair.names() == ["pkg/deep/model.py", "train.py"]
    assert (pair.there / "train.py").read_text() == "print('hi')"
    assert (report.sent, report.sent_bytes, report.removed) == (2, 11, 0)
    assert report.tree_hash == read_tree(pair.here).hash


def test_an_untouched_folder_sends_nothing(pair: Pair) -> None:
    pair.write("train.py")
    pair.write("empty.py", "")
    (pair.here / "link").symlink_to("train.py")
    pair.sync()
    report = pair.sync()
    assert (report.sent, report.sent_bytes, report.removed) == (0, 0, 0)
    assert pair.link.deliveries == 1


def test_a_host_that_speaks_another_language_is_not_sent_everything_again(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("sha256sum")
    stand_in = tmp_path / "bin" / "sha256sum"
    stand_in.parent.mkdir()
    translated = f"{real} \"$@\" | sed 's/: OK$/: 성공/'"
    stand_in.write_text(f'#!/bin/sh\n[ "$LC_ALL" = C ] && exec {real} "$@"\n{translated}\n', encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(stand_in.parent), prepend=":")
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    pair.write("train.py")
    pair.sync()
    assert pair.sync().sent == 0
    assert pair.link.deliveries == 1


def test_only_changed_files_travel(pair: Pair) -> None:
    pair.write("same.py", "same")
    pair.write("changed.py", "old")
    pair.sync()
    pair.write("changed.py", "newer")
    pair.write("added.py", "12")
    report = pair.sync()
    assert (report.sent, report.sent_bytes) == (2, 7)
    assert (pair.there / "changed.py").read_text() == "newer"
    assert pair.names() == ["added.py", "changed.py", "same.py"]


def test_what_is_gone_here_goes_there(pair: Pair) -> None:
    gone = pair.write("pkg/gone.py")
    pair.write("kept.py")
    pair.sync()
    shutil.rmtree(gone.parent)
    report = pair.sync()
    assert (report.sent, report.removed) == (0, 1)
    assert pair.names() == ["kept.py"]
    assert not (pair.there / "pkg").exists()


def test_what_a_job_wrote_there_stays(pair: Pair) -> None:
    gone = pair.write("gone.py")
    pair.write("kept.py")
    pair.sync()
    (pair.there / "results").mkdir()
    (pair.there / "results" / "model.h5").write_text("weights")
    gone.unlink()
    pair.sync()
    assert pair.names() == ["kept.py", "results/model.h5"]


def test_an_empty_folder_that_a_job_made_stays(pair: Pair) -> None:
    gone = pair.write("gone.py")
    pair.sync()
    (pair.there / "checkpoints").mkdir()
    gone.unlink()
    pair.sync()
    assert (pair.there / "checkpoints").is_dir()


def test_a_tampered_file_is_mended(pair: Pair) -> None:
    pair.write("train.py", "good")
    pair.write("other.py")
    pair.sync()
    (pair.there / "train.py").write_text("evil")
    assert pair.sync().sent == 1
    assert (pair.there / "train.py").read_text() == "good"


def test_a_file_that_vanished_there_comes_back(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    (pair.there / "train.py").unlink()
    assert pair.sync().sent == 1
    assert pair.names() == ["train.py"]


def test_a_lost_or_damaged_index_only_costs_a_transfer(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    index = pair.state / "index"
    for damage in ("", "{", "x y\n[]\n", "x y\nnull\n", "x y\n[[1]]\n"):
        index.write_text(damage)
        assert pair.sync().sent == 1
        assert pair.sync().sent == 0


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o700, 0o664, 0o640, 0o600, 0o400], ids=oct)
def test_permissions_travel(pair: Pair, mode: int) -> None:
    pair.write("run.sh").chmod(mode)
    pair.sync()
    assert permissions(pair.there / "run.sh") == mode
    assert pair.sync().sent == 0


def test_permissions_that_change_travel_too(pair: Pair) -> None:
    script = pair.write("run.sh")
    script.chmod(0o755)
    pair.write("plain.py")
    pair.sync()
    script.chmod(0o644)
    assert pair.sync().sent == 1
    assert permissions(pair.there / "run.sh") == 0o644
    (pair.there / "run.sh").chmod(0o600)
    assert pair.sync().sent == 1
    assert permissions(pair.there / "run.sh") == 0o644


def test_a_container_of_another_user_can_read_what_its_owner_can(pair: Pair) -> None:
    pair.write("secret.py").chmod(0o600)
    pair.write("run.sh").chmod(0o700)
    target = {"a": SyncTarget(pair.link, str(pair.there), is_shared=True)}
    assert sync_all(target, read_tree(pair.here)).done["a"].sent == 2
    assert permissions(pair.there / "secret.py") == 0o644
    assert permissions(pair.there / "run.sh") == 0o755
    assert sync_all(target, read_tree(pair.here)).done["a"].sent == 0


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_symlinks_stay_symlinks(pair: Pair) -> None:
    pair.write("data/real.txt", "real")
    (pair.here / "to-file").symlink_to("data/real.txt")
    (pair.here / "to-folder").symlink_to("data")
    (pair.here / "to-nowhere").symlink_to("/no/such/place")
    pair.sync()
    targets = {name: str((pair.there / name).readlink()) for name in ("to-file", "to-folder", "to-nowhere")}
    assert targets == {"to-file": "data/real.txt", "to-folder": "data", "to-nowhere": "/no/such/place"}
    (pair.here / "to-file").unlink()
    (pair.here / "to-file").symlink_to("elsewhere")
    assert pair.sync().sent == 1
    assert (pair.there / "to-file").readlink() == Path("elsewhere")


@pytest.mark.parametrize("first", ["file", "link", "folder"])
@pytest.mark.parametrize("then", ["file", "link", "folder"])
def test_a_name_may_become_another_kind_of_thing(pair: Pair, first: str, then: str) -> None:
    make(pair.here / "thing", first)
    pair.write("other.py")
    pair.sync()
    path = pair.here / "thing"
    if first == "folder":
        (path / "inside.py").unlink()
        path.rmdir()
    else:
        path.unlink()
    make(path, then)
    pair.sync()
    assert pair.names() == listed(pair.here)
    assert (pair.there / "thing").is_symlink() == (then == "link")
    assert is_real_folder(pair.there / "thing") == (then == "folder")


def make(path: Path, kind: str) -> None:
    if kind == "file":
        path.write_text("file")
    elif kind == "link":
        path.symlink_to("other.py")
    else:
        path.mkdir()
        (path / "inside.py").touch()


ODD_NAMES = (
    "two words.py", "new\nline.py", "back\\slash.py", "back\\nslash.py", "quote'\".py", "-rf", "--help",
    "$HOME.py", "한국어.py", "é.py", "*.py", "#hash", " leading", "trailing ", "a:b",
    "line\u2028separator.py", "carriage\rreturn.py", "form\x0cfeed.py", "next\x85line.py",
    "unit\x1fseparator.py",
)  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_an_odd_name_travels_is_mended_and_goes(pair: Pair, name: str) -> None:
    odd = pair.write(name, "odd")
    pair.write("plain.py")
    assert pair.sync().sent == 2
    assert pair.names() == sorted([name, "plain.py"])
    assert pair.sync().sent == 0
    (pair.there / name).write_text("evil")
    assert pair.sync().sent == 1
    odd.unlink()
    assert pair.sync().removed == 1
    assert pair.names() == ["plain.py"]


def test_a_name_that_is_no_text_travels_and_goes(pair: Pair) -> None:
    odd = pair.here / b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    odd.touch()
    pair.write("plain.py")
    assert pair.sync().sent == 2
    assert pair.sync().sent == 0
    odd.unlink()
    assert pair.sync().removed == 1
    assert pair.names() == ["plain.py"]


def test_long_names_travel(pair: Pair) -> None:
    name = "/".join(["folder-with-a-long-name" * 4] * 4) + "/file.py"
    pair.write(name)
    pair.sync()
    assert pair.names() == [name]
    assert pair.sync().sent == 0


def test_a_file_larger_than_a_chunk_travels_whole(pair: Pair) -> None:
    data = os.urandom((1 << 20) + 12345)
    (pair.here / "data.bin").write_bytes(data)
    assert pair.sync().sent_bytes == len(data)
    assert (pair.there / "data.bin").read_bytes() == data


def test_a_file_that_becomes_ignored_goes_there(pair: Pair) -> None:
    pair.write("secret.env")
    pair.sync()
    pair.write(".hvdockerignore", "*.env\n")
    assert pair.sync().removed == 1
    assert pair.names() == [".hvdockerignore"]


def test_an_empty_folder_is_a_tree_too(pair: Pair) -> None:
    report = pair.sync()
    assert (report.sent, report.removed) == (0, 0)


def refusing(words: bytes) -> FakeLink:
    """Holds nothing, and fails to write."""

    def answer(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
        is_question = not any("-xpf" in word for word in command.argv)
        return (0, b"differs \n", b"") if is_question else (2, b"", words)

    return FakeLink("b", answer)


def test_a_host_that_refuses_is_an_error_with_its_words(pair: Pair) -> None:
    pair.write("train.py")
    with pytest.raises(HvdockerError) as caught:
        sync_host(refusing(b"tar: Permission denied\n"), read_tree(pair.here), "/there")
    assert str(caught.value) == "b: writing the code failed (exit 2)"
    assert caught.value.lines == ("tar: Permission denied",)
    assert caught.value.command and caught.value.command.startswith("ssh b sh -c ")


@pytest.mark.parametrize(
    "words",
    [b"tar: x: No space left on device\n", b"Disk quota exceeded\n", b"Wrote only 1 of 9\n"],
)
def test_a_full_disk_is_a_host_that_is_unfit(pair: Pair, words: bytes) -> None:
    pair.write("train.py")
    with pytest.raises(HostUnfit, match="the disk is full") as caught:
        sync_host(refusing(words), read_tree(pair.here), "/there")
    assert caught.value.host == "b" and caught.value.fix


# Round trips


def test_nothing_changed_is_one_round_trip_that_carries_nothing(pair: Pair) -> None:
    for number in range(50):
        pair.write(f"pkg{number % 5}/module{number}.py")
    pair.sync()
    pair.link.round_trips.clear()
    pair.sync()
    assert len(pair.link.round_trips) == 1
    assert pair.link.round_trips[0].sent_bytes == 0
    assert pair.link.round_trips[0].received_bytes < 100


def test_a_change_is_two_round_trips(pair: Pair) -> None:
    pair.write("train.py")
    gone = pair.write("old/gone.py")
    pair.sync()
    pair.link.round_trips.clear()
    pair.write("train.py", "changed")
    gone.unlink()
    pair.sync()
    assert len(pair.link.round_trips) == 2


def test_a_touched_file_does_not_travel(pair: Pair) -> None:
    os.utime(pair.write("train.py"), (1, 1))
    pair.sync()
    os.utime(pair.here / "train.py", (2_000_000_000, 2_000_000_000))
    pair.link.round_trips.clear()
    assert pair.sync().sent == 0
    assert len(pair.link.round_trips) == 1


def test_times_are_kept(pair: Pair) -> None:
    os.utime(pair.write("train.py"), (1_500_000_000, 1_500_000_000))
    pair.sync()
    assert (pair.there / "train.py").stat().st_mtime == 1_500_000_000


# What happens on the host meanwhile


def test_a_file_tampered_with_in_secret_is_mended(pair: Pair) -> None:
    """Equal size, equal time: nobody can set back the time of the change itself."""
    pair.write("train.py", "good")
    pair.sync()
    there = pair.there / "train.py"
    before = there.stat()
    there.write_text("evil")
    os.utime(there, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert pair.sync().sent == 1
    assert there.read_text() == "good"


def test_a_link_that_was_bent_is_mended(pair: Pair) -> None:
    (pair.here / "data").symlink_to("one")
    pair.sync()
    (pair.there / "data").unlink()
    (pair.there / "data").symlink_to("two")
    assert pair.sync().sent == 1
    assert (pair.there / "data").readlink() == Path("one")


def test_a_folder_that_became_a_link_leads_nothing_astray(pair: Pair, tmp_path: Path) -> None:
    pair.write("pkg/a.py", "ours")
    gone = pair.write("pkg/gone.py", "ours")
    pair.sync()
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("a.py", "gone.py"):
        (outside / name).write_text("precious")
        (pair.there / "pkg" / name).unlink()
    (pair.there / "pkg").rmdir()
    (pair.there / "pkg").symlink_to(outside)
    gone.unlink()
    pair.sync()
    assert pair.names() == ["pkg/a.py"]
    assert {path.read_text() for path in outside.iterdir()} == {"precious"}


@pytest.mark.parametrize("name", ["code", "code.sync"])
def test_nothing_is_written_through_a_link_in_place_of_our_folders(pair: Pair, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs.txt").write_text("theirs")
    (pair.there.parent / name).symlink_to(elsewhere)
    pair.write("train.py")
    with pytest.raises(HvdockerError) as caught:
        pair.sync()
    assert f"{pair.there.parent / name} is a link: nothing is written through it" in caught.value.lines
    assert listed(elsewhere) == ["theirs.txt"]


def test_links_that_lead_out_travel_as_links_and_bring_nothing_with_them(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not code")
    for target in ("../secret.txt", str(tmp_path / "secret.txt"), "..", "/etc"):
        (pair.here / f"link{len(target)}").symlink_to(target)
    pair.sync()
    assert all((pair.there / name).is_symlink() for name in pair.names()) and len(pair.names()) == 4


def test_what_a_job_put_in_the_way_is_an_error_and_stays(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    (pair.there / "results").write_text("weights")
    pair.write("results/read.py")
    with pytest.raises(HvdockerError, match="writing the code failed") as caught:
        pair.sync()
    assert caught.value.fix and "in the way" in caught.value.fix
    assert (pair.there / "results").read_text() == "weights"
    (pair.there / "results").unlink()
    assert pair.sync().sent == 1
    assert pair.names() == ["results/read.py", "train.py"]


def test_the_code_folder_itself_stays_the_same_folder(pair: Pair) -> None:
    """Running workers have it mounted."""
    pair.there.mkdir()
    inode = pair.there.stat().st_ino
    pair.write("train.py")
    pair.sync()
    pair.write("train.py", "changed")
    pair.sync()
    assert pair.there.stat().st_ino == inode


def test_a_running_job_keeps_reading_the_file_it_opened(pair: Pair) -> None:
    pair.write("data.txt", "old")
    pair.sync()
    with (pair.there / "data.txt").open() as file:
        pair.write("data.txt", "new")
        pair.sync()
        assert file.read() == "old"
    assert (pair.there / "data.txt").read_text() == "new"


def test_nothing_is_left_beside_the_code(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    assert sorted(path.name for path in pair.there.parent.iterdir()) == ["code", "code.sync"]
    assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]


# Cut off


def test_a_stream_that_is_cut_off_changes_nothing(pair: Pair) -> None:
    pair.write("train.py", "old")
    pair.sync()
    pair.write("train.py", "new")
    pair.write("added.py")
    for keep in (0, 512, 2000, -1536):
        pair.link.cut_after_bytes = keep
        with pytest.raises(HvdockerError, match="writing the code failed"):
            pair.sync()
        assert pair.names() == ["train.py"]
        assert (pair.there / "train.py").read_text() == "old"
        assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]
    pair.link.cut_after_bytes = None
    assert pair.sync().sent == 2


def test_a_sync_that_died_while_it_put_files_in_place_is_made_good(pair: Pair, tmp_path: Path) -> None:
    """Killed after the new files took their places and before the index was written: what it added is
    known to be a sync's, and goes when the folder no longer has it."""
    pair.write("train.py", "old")
    pair.sync()
    index = (pair.state / "index").read_bytes()
    pair.write("train.py", "new")
    added = pair.write("pkg/added.py")
    pending = read_tree(pair.here).index()
    pair.sync()
    (pair.state / "index").write_bytes(index)
    (pair.state / "paths").write_bytes(b"./train.py\0")
    (pair.state / "pending").write_bytes(pending)
    left = pair.state / "in.0123"
    (left / "new").mkdir(parents=True)
    os.utime(left, (0, 0))
    added.unlink()
    pair.write("train.py", "old")
    report = pair.sync()
    assert (report.sent, report.removed) == (1, 1)
    assert pair.names() == ["train.py"]
    assert (pair.there / "train.py").read_text() == "old"
    assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]
    assert pair.sync().sent == 0


# Two at once


class Meanwhile(RecordingLink):
    """Another sync to the same host gets through between this one's question and its last stream."""

    def __init__(self, other: Callable[[], object], name: str = "a") -> None:
        super().__init__(name)
        self.other = other

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
    ) -> CommandResult:
        if stdin is not None and "meta/done" in command.line():
            self.other()
        return super().run(command, stdin, timeout_s)


def large(pair: Pair) -> None:
    """Enough to be measured first: a sync of two streams."""
    for name in ("a.bin", "b.bin", "c.bin"):
        (pair.here / name).write_bytes(os.urandom(4 << 20))


def test_two_syncs_of_the_same_code_do_not_disturb_each_other(pair: Pair) -> None:
    large(pair)
    link = Meanwhile(pair.sync)
    assert sync_host(link, read_tree(pair.here), str(pair.there)).sent == 3
    assert pair.names() == ["a.bin", "b.bin", "c.bin"]
    assert pair.sync().sent == 0
    assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]


def test_of_two_syncs_of_different_code_the_later_is_told(pair: Pair) -> None:
    """It was decided from what the host no longer holds: putting it in place would mix both."""
    large(pair)
    pair.sync()
    mine = pair.write("train.py", "mine")
    tree = read_tree(pair.here)
    (pair.here / "a.bin").write_bytes(os.urandom(4 << 20))
    theirs = read_tree(pair.here)
    mine.write_text("mine")
    link = Meanwhile(lambda: sync_host(pair.link, theirs, str(pair.there)))
    with pytest.raises(HvdockerError, match="another sync put other code there meanwhile") as caught:
        sync_host(link, tree, str(pair.there))
    assert caught.value.host == "a" and caught.value.fix
    assert (pair.there / "a.bin").read_bytes() == (pair.here / "a.bin").read_bytes()
    assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]


def test_what_the_host_knows_does_not_grow_old(pair: Pair) -> None:
    """Only what syncs left unpacked is cleared away after a day."""
    pair.write("train.py")
    pair.write("other.py")
    pair.sync()
    for name in ("index", "paths"):
        os.utime(pair.state / name, (0, 0))
    pair.write("train.py", "new")
    assert pair.sync().sent == 1


def test_a_sync_that_died_in_its_last_step_is_in_nobodys_way(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (pair.state / "commit").mkdir()
    (pair.state / "commit" / "pid").write_text(f"{dead.pid}\n")
    pair.write("train.py", "new")
    assert pair.sync().sent == 1
    assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]


# Contents


def test_a_file_changed_with_equal_size_and_time_is_found_by_checksum(pair: Pair, tmp_path: Path) -> None:
    """Even where the file system tells no change times: the cache is made to believe the old hash."""
    cache = HashCache(tmp_path / "cache")
    path = pair.write("train.py", "good")
    os.utime(path, (1_500_000_000, 1_500_000_000))
    pair.sync()
    old = read_tree(pair.here).entries["train.py"].sha256
    path.write_text("evil")
    os.utime(path, (1_500_000_000, 1_500_000_000))
    seen = path.stat()
    look = [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]
    cache.folder.mkdir()
    cache.file(pair.here).write_text(json.dumps({"train.py": [look, old]}))
    assert sync_host(pair.link, read_tree(pair.here, cache), str(pair.there)).sent == 0
    tree = read_tree(pair.here, cache, checksum=True)
    assert sync_host(pair.link, tree, str(pair.there), SyncOptions(checksum=True)).sent == 1
    assert (pair.there / "train.py").read_text() == "evil"


def test_contents_are_checked_on_the_host(pair: Pair) -> None:
    """Whatever the index says: here it was forged to hide a change."""
    pair.write("train.py", "good")
    pair.write("new\nline.py", "odd")
    pair.sync()
    (pair.there / "train.py").write_text("evil")
    forge(pair)
    assert pair.sync().sent == 0
    checked = sync_host(pair.link, read_tree(pair.here), str(pair.there), SyncOptions(checksum=True))
    assert (checked.sent, (pair.there / "train.py").read_text()) == (1, "good")
    pair.link.round_trips.clear()
    assert sync_host(pair.link, read_tree(pair.here), str(pair.there), SyncOptions(checksum=True)).sent == 0
    assert len(pair.link.round_trips) == 1


def forge(pair: Pair) -> None:
    """The host's index, as if the last sync had seen the files as they are now."""
    paths = (pair.state / "paths").read_bytes()
    argv = ["xargs", "-0", "stat", "-c", "//%f/%s/%y/%z/%n"]
    environment = {**os.environ, "TZ": "UTC0", "LC_ALL": "C"}
    listing = subprocess.run(argv, input=paths, cwd=pair.there, env=environment, check=True, capture_output=True).stdout
    header, rows, _ = (pair.state / "index").read_bytes().split(b"\n", 2)
    digest = hashlib.sha256(listing).hexdigest().encode()
    whole = b"%b %b\n%b\n%b" % (header.split()[0], digest, rows, listing)
    (pair.state / "index").write_bytes(whole)


# Large ones


@pytest.mark.parametrize("codec", list(Codec))
def test_a_large_sync_is_measured_and_then_compressed_as_chosen(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: Codec
) -> None:
    stand_in_for_zstd(tmp_path, monkeypatch)
    asked: list[LinkSpeed] = []

    def choose(speed: LinkSpeed) -> Codec:
        asked.append(speed)
        return codec

    text = "all work and no play makes a dull file\n" * 150_000
    for name in ("a.txt", "b.txt", "small.txt"):
        pair.write(name, text if name != "small.txt" else "small")
    report = sync_host(pair.link, read_tree(pair.here), str(pair.there), SyncOptions(choose=choose))
    assert (report.sent, report.codec) == (3, codec)
    assert (report.wire_bytes < report.sent_bytes / 2) == (codec is not Codec.NONE)
    assert (pair.there / "b.txt").read_text() == text
    assert [(speed.has_zstd, speed.ratio < 0.5) for speed in asked] == [(True, True)]
    assert len(pair.link.round_trips) == 3
    assert pair.sync().sent == 0


def stand_in_for_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every machine that runs this test has the program; the library is the same."""
    program = tmp_path / "bin" / "zstd"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys, zstandard\n"
        "zstandard.ZstdDecompressor().copy_stream(sys.stdin.buffer, sys.stdout.buffer)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


def test_one_large_file_is_measured_with_padding_that_stays_nowhere(pair: Pair) -> None:
    data = os.urandom(9 << 20)
    (pair.here / "data.bin").write_bytes(data)
    report = pair.sync()
    assert report.codec is Codec.NONE
    assert len(data) < report.wire_bytes < 1.2 * len(data)
    assert (pair.there / "data.bin").read_bytes() == data
    assert sorted(path.name for path in pair.state.iterdir()) == ["index", "paths"]


def test_progress_goes_up_to_the_whole(pair: Pair) -> None:
    (pair.here / "data.bin").write_bytes(os.urandom(10 << 20))
    told: list[tuple[str, int, int]] = []
    how = SyncOptions(progress=lambda host, done, total: told.append((host, done, total)))
    sync_host(pair.link, read_tree(pair.here), str(pair.there), how)
    assert {(host, total) for host, _, total in told} == {("a", 10 << 20)}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == 10 << 20 and len(told) > 10
