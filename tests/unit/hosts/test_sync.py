"""Sync against this machine as a host: real tar, real sha256sum, a folder of the test's own."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.hosts.sync import SyncReport, read_tree, sync
from tests.unit.fakes import CountingLink, FakeLink


class Pair:
    """A folder here and its copy on the host."""

    def __init__(self, root: Path) -> None:
        self.here, self.there = root / "project", root / "host" / "code"
        self.here.mkdir()
        self.there.parent.mkdir()
        self.link = CountingLink()

    def write(self, name: str, text: str = "x") -> Path:
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def sync(self) -> SyncReport:
        return sync(self.link, read_tree(self.here), str(self.there))

    def names(self) -> list[str]:
        return listed(self.there)


def listed(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not is_real_folder(path)
    )


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
    assert report == SyncReport(2, 11, 0, read_tree(pair.here).hash)


def test_an_untouched_folder_sends_nothing(pair: Pair) -> None:
    pair.write("train.py")
    pair.write("empty.py", "")
    (pair.here / "link").symlink_to("train.py")
    pair.sync()
    report = pair.sync()
    assert (report.sent, report.sent_bytes, report.removed) == (0, 0, 0)
    assert pair.link.unpacked == 1


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
    assert pair.link.unpacked == 1


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
    gone.unlink()
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


def test_a_lost_or_damaged_manifest_only_costs_a_transfer(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    manifest = pair.there.with_name("code.manifest")
    for damage in ("", "{", "[]", "null"):
        manifest.write_text(damage)
        assert pair.sync().sent == 1
        assert pair.sync().sent == 0


def test_executable_bits_travel_and_change(pair: Pair) -> None:
    script = pair.write("run.sh")
    pair.write("plain.py")
    script.chmod(0o700)
    pair.sync()
    modes = {name: stat.S_IMODE((pair.there / name).stat().st_mode) for name in ("run.sh", "plain.py")}
    assert modes == {"run.sh": 0o755, "plain.py": 0o644}
    script.chmod(0o600)
    assert pair.sync().sent == 1
    assert stat.S_IMODE((pair.there / "run.sh").stat().st_mode) == 0o644


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


def test_a_host_that_refuses_is_an_error_with_its_words(pair: Pair) -> None:
    pair.write("train.py")
    full = FakeLink("b", lambda command, stdin: (2, b"", b"tar: No space left on device\n"))
    with pytest.raises(HvdockerError) as caught:
        sync(full, read_tree(pair.here), "/there")
    assert str(caught.value) == "b: writing the code failed (exit 2)"
    assert caught.value.lines == ("tar: No space left on device",)
    assert caught.value.command and caught.value.command.startswith("ssh b sh -c ")


def test_files_that_arrive_damaged_are_noticed(pair: Pair) -> None:
    pair.write("train.py")
    liar = FakeLink("b", lambda command, stdin: (0, b"\n--hvdocker--\n./train.py: FAILED\n", b""))
    with pytest.raises(HvdockerError, match=r"1 files? arrived damaged") as caught:
        sync(liar, read_tree(pair.here), "/there")
    assert caught.value.lines == ("train.py",)
