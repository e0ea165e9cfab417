"""Keeps the hashes of files between commands, so that unchanged files need not be read again. A missing or damaged
cache does no harm: the files are then hashed again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hvdocker.sync.tree import FileStat

CachedHashes = Mapping[str, tuple[FileStat, str]]

# A file that changed more recently may change again without a new time: the file system's clock may be coarse.
_SETTLED_NS = 2_000_000_000
_MAX_FILES = 64


@dataclass(frozen=True)
class HashCache:
    """A cache of file hashes in the folder `folder`, with one JSON file for each code folder. If there are more than 64
    JSON files, the oldest are removed."""

    folder: Path

    @classmethod
    def of_user(cls) -> HashCache:
        """Return the cache in the user's cache folder: hvdocker/sync in $XDG_CACHE_HOME, by default in ~/.cache."""
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(base).expanduser() / "hvdocker" / "sync")

    def load(self, root: Path) -> CachedHashes:
        """Return what `save` stored for the code folder `root`: the stat (size, times, inode) and the hash of its
        files, by path. Return an empty mapping if nothing is cached or the cache file cannot be read."""
        try:
            value = json.loads(self.file(root).read_bytes())
            return {str(path): (_parse_stat(look), str(sha256)) for path, (look, sha256) in value.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def save(self, root: Path, known: CachedHashes, seen_ns: int) -> None:
        """Store the stat (size, times, inode) and the hash of the files in `known`, by path. A file whose last change
        was not well before `seen_ns` (`has_settled`) is left out, and hashed again next time.

        `root` is the code folder. `seen_ns` is the time, in nanoseconds, just before the first stat of a file was read.
        Write errors are ignored."""
        kept = {path: value for path, value in known.items() if has_settled(value[0], seen_ns)}
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self.file(root), json.dumps(kept).encode())
            self._forget_oldest()

    def _write(self, path: Path, body: bytes) -> None:
        """Write `body` to the file `path` completely or not at all, even if two processes write at the same time."""
        handle, draft = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(body)
            Path(draft).replace(path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise

    def _forget_oldest(self) -> None:
        files = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[_MAX_FILES:]:
            path.unlink(missing_ok=True)

    def file(self, root: Path) -> Path:
        """Return the path of the cache file for the code folder `root`."""
        return self.folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def has_settled(look: FileStat, seen_ns: int) -> bool:
    """Return whether a file last changed more than two seconds before `seen_ns`, a time in nanoseconds. `look` is the
    file's stat.

    If True, any later change gives the file new times, even if the clock of the file system is coarse."""
    return max(look[1:3]) < seen_ns - _SETTLED_NS


def file_stat(status: os.stat_result) -> FileStat:
    """Return size, modification time, change time and inode of a file. `status` is the result of its `os.stat`.

    A change of the file changes at least one of these four values. The exception are two changes within one tick of the
    file system's clock (see `has_settled`)."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _parse_stat(values: list[int]) -> FileStat:
    size, mtime, ctime, inode = values
    return size, mtime, ctime, inode
