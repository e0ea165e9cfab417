"""Reads a code folder into a Tree: its files and their hashes, which are cached between runs."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pathspec

from hvdocker.errors import UsageProblem
from hvdocker.sync.hash_cache import HashCache, file_stat, has_settled
from hvdocker.sync.tree import Entry, FileStat, Tree

ALWAYS_SKIPPED = frozenset((".git", ".hvdocker", "__pycache__"))
IGNORE_FILES = (".hvdockerignore", ".gitignore")
_CHUNK = 1 << 20
# Hashing releases the interpreter's lock only for large chunks, so small files gain nothing from threads.
_LARGE_BYTES = 8 << 20


@dataclass(frozen=True)
class FoundFile:
    """A file or symlink in the code folder, before it is hashed. `look` has the file's size, times and inode; it is
    None for a symlink."""

    entry: Entry
    look: FileStat | None = None


def read_tree(root: Path, cache: HashCache | None = None, checksum: bool = False) -> Tree:
    """Read the code folder `root` into a tree. Only files whose hashes are not in the cache are read.

    With `checksum` every file is hashed. Raises UsageProblem for a file that cannot be read."""
    started_ns = time.time_ns()
    found = list(_walk(os.fspath(root), "", _ignore_rules(root)))
    known = {} if cache is None or checksum else cache.load(root)
    hashes: dict[str, str] = {}
    unread: list[FoundFile] = []
    for file in found:
        if file.look is None:
            continue
        remembered = known.get(file.entry.path)
        if remembered and remembered[0] == file.look:
            hashes[file.entry.path] = remembered[1]
        else:
            unread.append(file)
    hashes |= _hash_all(root, unread)
    if cache is not None and (unread or len(known) != len(hashes)):
        looks = {file.entry.path: file.look for file in found if file.look}
        cache.save(root, {path: (look, hashes[path]) for path, look in looks.items()}, started_ns)
    entries = (_hashed(file, hashes, started_ns) for file in found)
    return Tree(root, {entry.path: entry for entry in entries})


def _hashed(file: FoundFile, hashes: Mapping[str, str], started_ns: int) -> Entry:
    if file.look is None:
        return file.entry
    look = file.look if has_settled(file.look, started_ns) else None
    return replace(file.entry, sha256=hashes[file.entry.path], stat=look)


def _hash_all(root: Path, files: list[FoundFile]) -> dict[str, str]:
    large = [file.entry for file in files if file.entry.size >= _LARGE_BYTES]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        pending = {entry.path: pool.submit(_hash, root, entry.path) for entry in large}
        hashes = {file.entry.path: _hash(root, file.entry.path) for file in files if file.entry.path not in pending}
        return hashes | {path: done.result() for path, done in pending.items()}


def _hash(root: Path, path: str) -> str:
    full = os.path.join(root, path)  # noqa: PTH118  # making a Path per file would dominate a walk
    digest = hashlib.sha256()
    try:
        with open(full, "rb", buffering=0) as file:  # noqa: PTH123  # as above
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise unreadable_error(error, full) from error
    return digest.hexdigest()


def unreadable_error(error: OSError, path: str) -> UsageProblem:
    """Return the error for a local file that cannot be read."""
    return UsageProblem(
        f"cannot read {error.filename or path}: {error.strerror}", fix="make it readable, or name it in .hvdockerignore"
    )


def _walk(folder: str, prefix: str, rules: pathspec.GitIgnoreSpec | None) -> Iterator[FoundFile]:
    """Yield the files below `folder` that are not ignored, sorted by name. `prefix` is the path of `folder` in the
    tree.

    The code uses strings and scandir for speed, because every `train` walks the code folder."""
    try:
        with os.scandir(folder) as listing:
            items = sorted(listing, key=lambda item: item.name)
    except OSError as error:
        raise unreadable_error(error, folder) from error
    for item in items:
        relative = prefix + item.name
        is_folder = item.is_dir(follow_symlinks=False)
        if item.name in ALWAYS_SKIPPED or _is_ignored(relative, item, rules):
            continue
        if is_folder:
            yield from _walk(item.path, f"{relative}/", rules)
        elif found := _found_file(item, relative):
            yield found


def _found_file(item: os.DirEntry[str], relative: str) -> FoundFile | None:
    """Return the file or symlink. Return None for a device, socket or pipe, which are not synced."""
    try:
        status = item.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return FoundFile(Entry(relative, target=os.readlink(item.path)))  # noqa: PTH115  # as above
    except OSError as error:
        raise unreadable_error(error, item.path) from error
    if not stat.S_ISREG(status.st_mode):
        return None
    entry = Entry(relative, mode=status.st_mode & 0o777, size=status.st_size, mtime_ns=status.st_mtime_ns)
    return FoundFile(entry, file_stat(status))


def _ignore_rules(root: Path) -> pathspec.GitIgnoreSpec | None:
    """Return the rules of .hvdockerignore, or of .gitignore if there is no .hvdockerignore. Return None without
    either file."""
    for name in IGNORE_FILES:
        path = root / name
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            return pathspec.GitIgnoreSpec.from_lines(lines)
    return None


def _is_ignored(relative: str, item: os.DirEntry[str], rules: pathspec.GitIgnoreSpec | None) -> bool:
    """Whether the rules ignore the item. A symlink to a folder is ignored if the rules match it as a file or as a
    folder."""
    if rules is None:
        return False
    if item.is_symlink():
        return rules.match_file(relative) or (item.is_dir() and rules.match_file(f"{relative}/"))
    return rules.match_file(f"{relative}/" if item.is_dir(follow_symlinks=False) else relative)
