"""Packs the files that hosts lack into one tar stream, and compresses the stream with the chosen codec.

Files are read in chunks, so they may be larger than the memory."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from hvdocker.sync.codec import Codec
from hvdocker.sync.commands import STREAM_COMPLETE
from hvdocker.sync.file_errors import CodeChanged, file_error
from hvdocker.sync.hash_cache import file_stat
from hvdocker.sync.tree import Changes, Entry, Tree

_READ = 1 << 20
_PIECE = 1 << 18

OnGrowth = Callable[[str], None]


@dataclass(frozen=True)
class StreamFiles:
    """The content of one tar stream. Hosts with equal StreamFiles share one stream.

    `changes` is everything that the hosts lack; `paths` are the files in this stream. A large sync has two streams: a
    sample that measures the link, and the rest. The first stream (`is_first`) makes the inbox (the folder on the host
    into which streams are unpacked). The last stream (`is_last`) also has the metadata with which the host moves all
    files into place. `padding` is the number of bytes that fill up a sample. `large_files` are large files, which are
    sent one by one before the stream (`large_files.py`)."""

    changes: Changes
    paths: tuple[str, ...]
    is_first: bool = True
    is_last: bool = True
    codec: Codec = Codec.NONE
    padding: int = 0
    large_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A piece of the stream, perhaps compressed. `done` is the number of uncompressed bytes that were packed so
    far; a compressor may still hold the last of them."""

    data: bytes
    done: int


def pack_stream(tree: Tree, stream_files: StreamFiles, on_growth: OnGrowth = lambda path: None) -> Iterator[Piece]:
    """Yield the stream described by `stream_files` in pieces. `on_growth` is called with the path of a file that is
    longer now than when it was hashed; the part that was hashed is sent.

    Raise CodeChanged if a local file has changed in any other way since it was hashed (`_content`), and UsageProblem if
    it cannot be read."""
    compressor = _compressor(stream_files.codec)
    waiting: list[bytes] = []
    size = done = 0
    for chunk in _archive(tree, stream_files, on_growth):
        packed = compressor.compress(chunk)
        done += len(chunk)
        size += len(packed)
        waiting.append(packed)
        if size >= _PIECE:
            yield Piece(b"".join(waiting), done)
            waiting, size = [], 0
    waiting.append(compressor.flush())
    yield Piece(b"".join(waiting), done)


def compressed_ratio(tree: Tree, paths: Iterable[str], most: int = 16, each: int = 1 << 16) -> float:
    """Return the compressed size of the files `paths` divided by their original size, as measured on a sample. The
    sample is the first `each` bytes of the `most` largest files.

    Return 1.0 if there is nothing to compress."""
    largest = sorted(paths, key=lambda path: tree.entries[path].size, reverse=True)[:most]
    sample = b""
    for path in largest:
        if tree.entries[path].sha256:
            with _opened(tree, path) as file:
                sample += file.read(each)
    return len(zlib.compress(sample, 1)) / len(sample) if sample else 1.0


class Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _NoCompression:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def _compressor(codec: Codec) -> Compressor:
    if codec is Codec.ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(level=1).compressobj()
    return zlib.compressobj(1, wbits=31) if codec is Codec.GZIP else _NoCompression()


def _archive(tree: Tree, stream_files: StreamFiles, on_growth: OnGrowth) -> Iterator[bytes]:
    """Yield the uncompressed tar archive of the stream `stream_files`: metadata, files, padding, and the mark that the
    stream is complete.

    Only the last stream of a sync has the metadata and the mark. `on_growth` is called with the path of a file that is
    longer now than when it was hashed."""
    if stream_files.is_last:
        for name, body in _metadata(tree, stream_files.changes):
            yield _member(f"meta/{name}", body)
    for path in stream_files.paths:
        yield from _file(tree, tree.entries[path], stream_files.changes.is_shared, on_growth)
    if stream_files.padding:
        yield _member("meta/padding", bytes(stream_files.padding))
    if stream_files.is_last:
        yield _member(STREAM_COMPLETE, b"")
    yield bytes(2 * tarfile.BLOCKSIZE)


def _metadata(tree: Tree, changes: Changes) -> Iterator[tuple[str, bytes]]:
    yield "index", tree.index(changes.is_shared)
    yield "paths", _path_list(sorted(tree.entries))
    yield "folders", _path_list(changes.folders(tree))
    yield "drop", _path_list(changes.drop)
    replaced = (*changes.send, *changes.drop)
    yield "replaced", _path_list(path for path in replaced if "\n" not in path)
    yield "odd", _path_list(path for path in replaced if "\n" in path)
    yield "emptied", _path_list(changes.emptied(tree))


def _path_list(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths)


def _member(name: str, body: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = len(body)
    return b"".join((_header(info), body, bytes(-len(body) % tarfile.BLOCKSIZE)))


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _file(tree: Tree, entry: Entry, is_shared: bool, on_growth: OnGrowth) -> Iterator[bytes]:
    info = tarfile.TarInfo(f"new/{entry.path}")
    info.mode = entry.mode_for(is_shared)
    if entry.target:
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
        yield _header(info)
        return
    if entry.is_folder:
        info.type, info.mode = tarfile.DIRTYPE, entry.mode & 0o777
        yield _header(info)
        return
    info.size, info.mtime = entry.size, entry.mtime_ns // 1_000_000_000
    yield _header(info)
    yield from _content(tree, entry, on_growth)
    yield bytes(-entry.size % tarfile.BLOCKSIZE)


def _content(tree: Tree, entry: Entry, on_growth: OnGrowth) -> Iterator[bytes]:
    """Yield the content of a file, exactly as it was hashed. If the file was only appended to since then, call
    `on_growth` with its path. Raise CodeChanged after any other change, and if the file was empty and has grown. The
    host then discards the incomplete stream, so that no host has code that differs from its hash.

    The file is unchanged if its size, times and inode equal `entry.stat` both before and after reading, because the
    change time of a file cannot be set back. Such a file is not hashed again, because hashing a gigabyte takes about a
    second. If they are equal only before reading, CodeChanged is raised, even if the file has only grown."""
    left = entry.size
    with _opened(tree, entry.path) as file:
        digest = None if _is_unchanged(file, entry) else hashlib.sha256()
        while left:
            chunk = _read(file, entry.path, min(_READ, left))
            if not chunk:
                break
            left -= len(chunk)
            if digest:
                digest.update(chunk)
            yield chunk
        is_same = digest.hexdigest() == entry.sha256 if digest else _is_unchanged(file, entry)
        has_grown = os.fstat(file.fileno()).st_size > entry.size
        # A file that was empty and is not any more was probably being rewritten: programs truncate first.
        if left or not is_same or (has_grown and not entry.size):
            raise CodeChanged(str(tree.root / entry.path))
        if has_grown:
            on_growth(entry.path)


def _is_unchanged(file: _Reader, entry: Entry) -> bool:
    return entry.stat is not None and file_stat(os.fstat(file.fileno())) == entry.stat


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def fileno(self) -> int: ...

    def __enter__(self) -> _Reader: ...

    def __exit__(self, *error: object) -> None: ...


def _opened(tree: Tree, path: str) -> _Reader:
    full = tree.root / path
    try:
        return full.open("rb", buffering=0)  # type: ignore[return-value]  # a regular file gives bytes
    except OSError as error:
        raise file_error(error, str(full)) from error


def _read(file: _Reader, path: str, size: int) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise file_error(error, path) from error
