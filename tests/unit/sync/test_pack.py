"""What goes into a stream: exactly what was hashed."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.sync.file_errors import CodeChanged
from hvdocker.sync.hash_cache import file_stat
from hvdocker.sync.pack import StreamFiles, pack_stream
from hvdocker.sync.tree import Changes, Entry, Tree
from hvdocker.sync.walk import read_tree

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


@pytest.mark.parametrize("content", [b"y" * 100, b"x" * 99, b"y" + b"x" * 100], ids=["other", "less", "more in front"])
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
    with pytest.raises(CodeChanged, match="data changed"):
        list(stream)


def test_a_log_that_grows_is_sent_as_far_as_it_was_hashed(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(bytes(LARGE))
    tree = read_tree(tmp_path)
    grown: list[str] = []
    stream_files = StreamFiles(Changes(send=("train.log",)), ("train.log",))
    stream = pack_stream(tree, stream_files, grown.append)
    data = next(stream).data
    with path.open("ab") as file:
        file.write(b"one more line\n")
    data += b"".join(piece.data for piece in stream)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        sent = archive.extractfile("new/train.log")
        assert sent and sent.read() == bytes(LARGE)
    assert grown == ["train.log"]


def test_a_file_that_was_empty_for_a_moment_is_not_sent_as_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"")
    tree = read_tree(tmp_path)
    path.write_bytes(b"print(1)")
    with pytest.raises(CodeChanged, match=r"train\.py changed"):
        packed(tree)


def test_a_file_that_is_gone_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(TEXT)
    tree = read_tree(tmp_path)
    path.unlink()
    with pytest.raises(CodeChanged, match=r"train\.py changed"):
        packed(tree)
