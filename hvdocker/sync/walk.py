"""Reads a code folder into a Tree: its files and their hashes, which are cached between commands."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hvdocker.sync.file_errors import CodeChanged, file_error, unreadable_error
from hvdocker.sync.hash_cache import HashCache, file_stat, has_settled
from hvdocker.sync.ignore_files import IgnoreScope, scope_above
from hvdocker.sync.tree import FOLDER_MODE, Entry, FileStat, Tree

ALWAYS_SKIPPED = frozenset((".git", ".hvdocker", "__pycache__"))
# The most times that a folder is read if files vanish or shrink while it is read.
READ_TRIES = 5
_CHUNK = 1 << 20
# Hashing releases the interpreter's lock only for large chunks, so small files gain nothing from threads.
_LARGE_BYTES = 8 << 20
_STDOUT, _STDERR = 1, 2

FileId = tuple[int, int]  # device, inode


@dataclass(frozen=True)
class FoundFile:
    """A file, symlink or empty folder that was found in the code folder and is not hashed yet. `entry` is its entry
    without a hash. `look` has a file's size, times and inode; it is None for symlinks and folders."""

    entry: Entry
    look: FileStat | None = None


def read_tree(root: Path, cache: HashCache | None = None, checksum: bool = False) -> Tree:
    """Read the code folder `root` into a tree. Files that have not changed since their hash was stored in `cache` are
    not read again. Without a cache, or with `checksum`, all files are read.

    A file that grows is read up to the size that it has when it is opened. If a file vanishes or shrinks, the folder is
    read again, up to READ_TRIES times in total; after that CodeChanged is raised. Raise UsageProblem for a file that
    cannot be read."""
    for _ in range(READ_TRIES - 1):
        with contextlib.suppress(CodeChanged):
            return _read_tree(root, cache, checksum)
    return _read_tree(root, cache, checksum)


def _read_tree(root: Path, cache: HashCache | None, checksum: bool) -> Tree:
    started_ns = time.time_ns()
    walk = _Walk()
    found = list(walk.files(os.fspath(root), "", scope_above(root)))
    known = {} if cache is None or checksum else cache.load(root)
    hashes: dict[str, tuple[FileStat, str]] = {}
    unread: list[Entry] = []
    for file in found:
        remembered = known.get(file.entry.path)
        if remembered and remembered[0] == file.look:
            hashes[file.entry.path] = remembered
        elif file.look:
            unread.append(file.entry)
    hashes |= _hash_all(root, unread)
    if cache is not None and (unread or len(known) != len(hashes)):
        cache.save(root, hashes, started_ns)
    entries = (_hashed(file.entry, hashes[file.entry.path], started_ns) if file.look else file.entry for file in found)
    return Tree(root, {entry.path: entry for entry in entries}, tuple(walk.skipped))


def _hashed(entry: Entry, known: tuple[FileStat, str], started_ns: int) -> Entry:
    look, sha256 = known
    settled = look if has_settled(look, started_ns) else None
    return replace(entry, sha256=sha256, size=look[0], mtime_ns=look[1], stat=settled)


def _hash_all(root: Path, entries: list[Entry]) -> dict[str, tuple[FileStat, str]]:
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        pending = {entry.path: pool.submit(_hash, root, entry) for entry in entries if entry.size >= _LARGE_BYTES}
        hashes = {entry.path: _hash(root, entry) for entry in entries if entry.path not in pending}
        return hashes | {path: done.result() for path, done in pending.items()}


def _hash(root: Path, entry: Entry) -> tuple[FileStat, str]:
    """Return the stat (size, times, inode) and the hash of the file `entry` in the code folder `root`, both as of the
    moment when it is opened: what is appended later is not part of the tree. Raise CodeChanged if the file has vanished
    or shrinks meanwhile."""
    full = os.path.join(root, entry.path)  # noqa: PTH118  # making a Path per file would dominate a walk
    digest = hashlib.sha256()
    try:
        with open(full, "rb", buffering=0) as file:  # noqa: PTH123  # as above
            look = file_stat(os.fstat(file.fileno()))
            left = look[0]
            while left and (chunk := file.read(min(_CHUNK, left))):
                digest.update(chunk)
                left -= len(chunk)
    except OSError as error:
        raise file_error(error, full) from error
    if left:
        raise CodeChanged(full)
    return look, digest.hexdigest()


class _Walk:
    """One walk through the code folder. `skipped` are the files that the walk left out, because this command writes its
    own output into them."""

    def __init__(self) -> None:
        self._own_output = _own_output_files()
        self.skipped: list[str] = []

    def files(self, folder: str, prefix: str, outer: IgnoreScope) -> Iterator[FoundFile]:
        """Yield the files below `folder` that are not ignored, sorted by name, and the folders without such files.

        `prefix` is the path of `folder` in the tree with a slash at its end, empty for the code folder itself. `outer`
        has the ignore files of the folders above. The code uses strings and scandir for speed, because every `train`
        walks the code folder."""
        try:
            with os.scandir(folder) as listing:
                items = sorted(listing, key=lambda item: item.name)
        except OSError as error:
            raise (file_error if prefix else unreadable_error)(error, folder) from error
        scope = outer.entering(folder, prefix, [item.name for item in items])
        for item in items:
            relative = prefix + item.name
            # As in git, a symlink to a folder is not a folder. It is not followed, so it may lead anywhere.
            is_folder = item.is_dir(follow_symlinks=False)
            if item.name in ALWAYS_SKIPPED or scope.ignores(relative, is_folder):
                continue
            if is_folder:
                inside = self.files(item.path, f"{relative}/", scope)
                yield next(inside, None) or FoundFile(Entry(relative, mode=FOLDER_MODE))
                yield from inside
            elif found := self._file(item, relative):
                yield found

    def _file(self, item: os.DirEntry[str], relative: str) -> FoundFile | None:
        """Return the file or symlink `item`, whose path in the tree is `relative`. Return None for this command's own
        output, and for a device, socket or pipe, which are not synced."""
        try:
            status = item.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return FoundFile(Entry(relative, target=os.readlink(item.path)))  # noqa: PTH115  # as above
        except OSError as error:
            raise file_error(error, item.path) from error
        if not stat.S_ISREG(status.st_mode):
            return None
        if (status.st_dev, status.st_ino) in self._own_output:
            self.skipped.append(relative)
            return None
        entry = Entry(relative, mode=status.st_mode & 0o777, size=status.st_size, mtime_ns=status.st_mtime_ns)
        return FoundFile(entry, file_stat(status))


def _own_output_files() -> frozenset[FileId]:
    """Return the regular files into which this process writes its own output, as in `hvdocker train … > train.log`.
    They change while they are synced. Each file is given by its device and inode.

    The result does not have the file of `| tee train.log`, because only tee has opened it."""
    found = set()
    for descriptor in (_STDOUT, _STDERR):
        try:
            status = os.fstat(descriptor)
        except OSError:  # the descriptor is closed
            continue
        if stat.S_ISREG(status.st_mode):
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)
