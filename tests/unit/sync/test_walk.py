"""Which files of a folder are synced at all."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.sync.hash_cache import CachedHashes, HashCache
from hvdocker.sync.walk import read_tree


def write(folder: Path, name: str, text: str = "x") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names_in_tree(folder: Path) -> list[str]:
    return sorted(read_tree(folder).entries)


def test_what_is_never_synced(tmp_path: Path) -> None:
    for name in (
        ".git/config",
        ".hvdocker/current.json",
        "__pycache__/x.pyc",
        "pkg/__pycache__/y.pyc",
        "pkg/z.py",
    ):
        write(tmp_path, name)
    assert names_in_tree(tmp_path) == ["pkg/z.py"]


def test_gitignore_with_negation_and_folders(tmp_path: Path) -> None:
    write(
        tmp_path,
        ".gitignore",
        "*.log\n!keep.log\n/build/\ndata/*\n!data/small.csv\n# comment\n\nonly-root\n/top\n",
    )
    for name in (
        "a.log", "keep.log", "deep/b.log", "deep/keep.log", "build/x", "deep/build/y", "data/big.csv",
        "data/small.csv", "top", "deep/top",
    ):  # fmt: skip
        write(tmp_path, name)
    assert names_in_tree(tmp_path) == [
        ".gitignore", "data/small.csv", "deep/build/y", "deep/keep.log", "deep/top", "keep.log",
    ]  # fmt: skip


def test_a_file_in_an_ignored_folder_cannot_be_taken_back(tmp_path: Path) -> None:
    """As in git: the folder is never entered."""
    write(tmp_path, ".gitignore", "out/\n!out/kept.txt\n")
    write(tmp_path, "out/kept.txt")
    assert names_in_tree(tmp_path) == [".gitignore"]


def test_our_own_ignore_file_stands_in_for_gits(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*.csv\n")
    write(tmp_path, ".hvdockerignore", "*.log\n")
    write(tmp_path, "data.csv")
    write(tmp_path, "run.log")
    assert names_in_tree(tmp_path) == [".gitignore", ".hvdockerignore", "data.csv"]


def test_devices_and_pipes_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path, "train.py")
    assert names_in_tree(tmp_path) == ["train.py"]


def test_equal_folders_have_equal_hashes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b.py").write_text("b")
        (tmp_path / name / "a.py").write_text("a")
    first, second = read_tree(tmp_path / "one"), read_tree(tmp_path / "two")
    assert first.hash == second.hash
    (tmp_path / "two" / "a.py").chmod(0o755)
    assert read_tree(tmp_path / "two").hash != first.hash
    (tmp_path / "two" / "a.py").chmod(0o644)
    (tmp_path / "two" / "a.py").rename(tmp_path / "two" / "c.py")
    assert read_tree(tmp_path / "two").hash != first.hash


def test_a_symlink_to_itself_is_only_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert sorted(read_tree(tmp_path).entries) == ["loop"]


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"cannot read .*/gone: No such file") as caught:
        read_tree(tmp_path / "gone")
    assert caught.value.fix and ".hvdockerignore" in caught.value.fix


READ_TREE = """
import pathlib, sys
from hvdocker.sync.walk import read_tree
tree = read_tree(pathlib.Path(sys.argv[1]))
pathlib.Path(sys.argv[2]).write_text(repr((sorted(tree.entries), tree.own_output)))
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_log_of_this_command_in_the_code_folder_is_left_out(tmp_path: Path, stream: str) -> None:
    """As `hvdocker train train.py > train.log` does it."""
    code = tmp_path / "code"
    write(code, "train.py")
    write(code, "old.log")
    (code / "link").symlink_to("train.log")
    with (code / "train.log").open("wb") as log:
        words = [sys.executable, "-c", READ_TREE, str(code), str(tmp_path / "told")]
        subprocess.run(words, check=True, **{stream: log})  # type: ignore[call-overload]  # one of two streams
    assert (tmp_path / "told").read_text() == "(['link', 'old.log', 'train.py'], ('train.log',))"


class ChangingCache(HashCache):
    """Changes the code folder between the walk and the hashing, which is when the cache is loaded."""

    def load(self, root: Path) -> CachedHashes:
        with contextlib.suppress(FileNotFoundError):
            (root / "a.swp").unlink()
        return {}


def test_a_file_that_vanishes_during_the_walk_is_no_error(tmp_path: Path) -> None:
    write(tmp_path, "code/a.swp")
    write(tmp_path, "code/train.py")
    assert sorted(read_tree(tmp_path / "code", ChangingCache(tmp_path / "cache")).entries) == ["train.py"]
