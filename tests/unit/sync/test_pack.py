"""What goes into a stream: exactly what was hashed."""

import hashlib
from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.sync.hash_cache import file_stat
from hvdocker.sync.pack import StreamFiles, pack_stream
from hvdocker.sync.tree import Changes, Entry, Tree

TEXT = b"x" * 100
LARGE = 2 << 20


def tree_of(path: Path, sha256: str, is_settled: bool) -> Tree:
    status = path.stat()
    look = file_stat(status) if is_settled else None
    entry = Entry(path.name, sha256, size=status.st_size, mtime_ns=status.st_mtime_ns, stat=look)
    return Tree(path.parent, {path.name: entry})


def let_the_clock_move(path: Path) -> None:
    """File systems tell times in ticks: what changes within one looks unchanged."""
    other, then = path.with_name("clock"), path.stat().st_ctime_ns
    while not other.exists() or other.stat().st_ctime_ns <= then:
        other.write_bytes(b"")


def packed(tree: Tree) -> bytes:
    (name,) = tree.entries
    return b"".join(piece.data for piece in pack_stream(tree, StreamFiles(Changes(send=(name,)), (name,))))


def test_a_file_that_looks_as_it_was_hashed_is_not_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(TEXT)
    assert TEXT in packed(tree_of(path, "the hash of that look", is_settled=True))
    with pytest.raises(UsageProblem, match="data changed"):
        packed(tree_of(path, "another hash", is_settled=False))


@pytest.mark.parametrize("content", [b"y" * 100, b"x" * 99, b"x" * 101], ids=["other", "less", "more"])
def test_a_file_that_looks_otherwise_by_now_is_hashed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data"
    path.write_bytes(TEXT)
    tree = tree_of(path, hashlib.sha256(TEXT).hexdigest(), is_settled=True)
    let_the_clock_move(path)
    path.unlink()
    path.write_bytes(content)
    with pytest.raises(UsageProblem, match="data changed"):
        packed(tree)


def test_a_file_that_was_only_touched_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(TEXT)
    tree = tree_of(path, hashlib.sha256(TEXT).hexdigest(), is_settled=True)
    path.touch()
    assert TEXT in packed(tree)


def test_a_file_that_is_written_to_while_it_is_read_is_found_by_its_look(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(LARGE))
    tree = tree_of(path, "the hash of that look", is_settled=True)
    stream = pack_stream(tree, StreamFiles(Changes(send=("data",)), ("data",)))
    next(stream)
    let_the_clock_move(path)
    with path.open("r+b") as file:
        file.write(b"y")
    with pytest.raises(UsageProblem, match="data changed"):
        list(stream)
