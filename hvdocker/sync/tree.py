"""The files of a code folder as data: what the folder has, what a host holds of it, and what has to be sent. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ID_VERSION = 1
# The base of a host that has no index: the shell joins the two words of the first line, both empty, with a space.
NO_INDEX = " "
_HEADER = re.compile(rb"[0-9a-f]{64} [0-9a-f]{64}")


FileStat = tuple[int, int, int, int]  # size, mtime_ns, ctime_ns, inode

# The mode of an empty folder, as in `stat`. Hosts make all folders with these permissions.
FOLDER_MODE = 0o040755


@dataclass(frozen=True)
class Entry:
    """An entry of a code folder: a file with its hash, a symlink with its `target`, or an empty folder with the mode
    FOLDER_MODE. `path` begins at the code folder.

    `stat` has the file's size, times and inode. As long as they are unchanged, the file's content is what was hashed.
    `stat` is None if that is not certain, because the file had changed shortly before it was hashed."""

    path: str
    sha256: str = ""
    mode: int = 0o644
    target: str = ""
    size: int = 0
    mtime_ns: int = 0
    stat: FileStat | None = field(default=None, compare=False)

    @property
    def is_folder(self) -> bool:
        return self.mode == FOLDER_MODE

    def content_key(self) -> list[object]:
        """Return the parts of the entry from which the hash of the code is computed: hash of the content, executable
        bit, symlink target."""
        return [self.sha256, bool(self.mode & 0o100), self.target]

    def checksum_line(self) -> bytes:
        """Return the line about this file that `sha256sum -c` reads on a host to check the file. If the path has
        characters that must be escaped, the line begins with a backslash."""
        escaped = self.path.replace("\\", "\\\\").replace("\n", "\\n")
        line = f"{'' if escaped == self.path else chr(92)}{self.sha256}  ./{escaped}\n"
        return line.encode("utf-8", "surrogateescape")

    def mode_for(self, is_shared: bool) -> int:
        """Return the mode of the file on the host. With `is_shared` (a container of another user reads the file), all
        users get the read and execute bits of the owner."""
        if self.target:
            return 0o777
        open_to_all = self.mode | (self.mode & 0o500) >> 3 | (self.mode & 0o500) >> 6
        return open_to_all if is_shared else self.mode

    def index_row(self, is_shared: bool) -> list[object]:
        """Return the entry as a row of a host's index: path, mode, size, time, hash and symlink target. `is_shared` (a
        container of another user reads the file) changes the mode."""
        return [self.path, self.mode_for(is_shared), self.size, self.mtime_ns, self.sha256, self.target]


@dataclass(frozen=True)
class Tree:
    """The files of the code folder `root`, by relative path. An empty folder is an entry too. Other folders are not:
    hosts make them as needed.

    `own_output` are the files into which this process writes its own output. They are not synced."""

    root: Path
    entries: Mapping[str, Entry]
    own_output: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def hash(self) -> str:
        return hash_contents(self.entries)

    @property
    def files(self) -> Mapping[str, Entry]:
        """The entries that are files or symlinks, without the empty folders."""
        return {path: entry for path, entry in self.entries.items() if not entry.is_folder}

    def id(self, is_shared: bool = False) -> str:
        """Return the id that a host's index has if the host holds exactly this tree. `is_shared` says that a container
        of another user reads the files there, which changes their modes.

        The id depends on modes but not on times: a file with a new time and the old content counts as unchanged."""
        rows: list[list[object]] = [[ID_VERSION, is_shared]]
        rows += [_row_without_time(entry.index_row(is_shared)) for _, entry in sorted(self.entries.items())]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def index(self, is_shared: bool = False) -> bytes:
        """Return the entries as the one JSON line that the host's index contains. `is_shared` says that a container of
        another user reads the files there, which changes their modes."""
        rows = [entry.index_row(is_shared) for _, entry in sorted(self.entries.items())]
        return json.dumps(rows, separators=(",", ":")).encode() + b"\n"

    def bytes_of(self, paths: Iterable[str]) -> int:
        return sum(self.entries[path].size for path in paths)


def hash_contents(entries: Mapping[str, Entry]) -> str:
    """Return a hash of the contents of `entries` (by path) only: equal for equal code, wherever and whenever it was
    checked out. Empty folders do not count, because git does not have them."""
    rows = [[path, *entry.content_key()] for path, entry in sorted(entries.items()) if not entry.is_folder]
    return hashlib.sha256(json.dumps(rows).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True)
class HostIndex:
    """What a host holds of the code, according to the host.

    `rows` has the index rows of the last sync, by path and without times. `touched` are the paths that have changed on
    the host since that sync. `unfinished` are the paths of an interrupted sync. `base` is the first line of the index;
    it is None if the line is damaged or was not read. `is_same` means that the host holds exactly the tree about which
    it was asked; the other fields are then not filled."""

    rows: Mapping[str, list[object]] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()
    is_same: bool = False
    base: str | None = None


@dataclass(frozen=True)
class Changes:
    """The changes that bring the tree to one host: the paths to `send`, the files to remove (`drop`), and the folders
    to remove if they are empty (`drop_folders`). Hosts with equal changes share one stream.

    `is_shared` means that the container that reads the files runs as another user than the SSH login. `finishes` means
    that the sync completes an interrupted sync, so it is needed even if there is nothing to send."""

    send: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    is_shared: bool = False
    finishes: bool = False
    drop_folders: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.send or self.drop or self.drop_folders or self.finishes)

    @property
    def drops_first(self) -> bool:
        """Whether a path changes from a file to a folder or from a folder to a file. Then the old files have to be
        removed before the new ones are moved into place."""
        sent, dropped = set(self.send), {*self.drop, *self.drop_folders}
        return bool(parent_folders(self.send) & dropped or (parent_folders(dropped) | dropped) & sent)

    def folders(self, tree: Tree) -> list[str]:
        """Return every folder that is made, or in which a file is written or removed, parents before children. The
        first is `.`, the code folder. `tree` is the tree that is synced."""
        made = {path for path in self.send if tree.entries[path].is_folder}
        return [".", *sorted(parent_folders((*self.send, *self.drop, *self.drop_folders)) | made)]

    def emptied(self, tree: Tree) -> list[str]:
        """Return the folders that may be empty after the sync has removed files, children before parents. Folders that
        `tree` (the tree that is synced) has are left out."""
        kept = parent_folders(tree.entries) | {path for path, entry in tree.entries.items() if entry.is_folder}
        return sorted((parent_folders((*self.drop, *self.drop_folders)) | set(self.drop_folders)) - kept, reverse=True)


def compute_changes(tree: Tree, held: HostIndex, is_shared: bool = False) -> Changes:
    """Return what the host lacks of the tree. `held` is what the host holds. `is_shared` says that a container of
    another user reads the files there.

    Files that the host lacks, that differ, or that were changed on the host since the last sync, are sent. Files of the
    last sync that the tree does not have are removed; files that no sync wrote are left alone."""
    if held.is_same:
        return Changes(is_shared=is_shared)
    send = tuple(
        path
        for path, entry in sorted(tree.entries.items())
        if path in held.touched or held.rows.get(path) != _row_without_time(entry.index_row(is_shared))
    )
    held_folders = {path for path, row in held.rows.items() if row[1] == FOLDER_MODE}
    new_kind = {
        path for path in held.rows if path in tree.entries and tree.entries[path].is_folder != (path in held_folders)
    }
    gone = (set(held.rows) | held.unfinished) - set(tree.entries) | new_kind
    drop_folders = gone & held_folders - parent_folders(tree.entries)
    return Changes(
        send,
        tuple(sorted(gone - held_folders)),
        is_shared,
        bool(held.unfinished),
        tuple(sorted(drop_folders)),
    )


def parse_host_index(answer: bytes, damaged: Iterable[str] = ()) -> HostIndex:
    """Parse `answer`, the decompressed answer of a host that does not hold exactly the tree about which it was asked.

    The answer has at least three sections: the index of the last sync (a line with two digests, a line of rows, and the
    listing of the files at that time), the rows of interrupted syncs, and the listing of the files now. A path is
    `touched` in the result if its two listings differ, or if it is in `damaged`. An answer with fewer sections gives an
    empty index."""
    sections = answer.split(b"\0")
    if len(sections) < 3:
        return HostIndex()
    header, _, rest = sections[0].partition(b"\n")
    line, _, listing = rest.partition(b"\n")
    marks = {str(row[0]): _row_without_time(row) for row in parse_rows(line)}
    unfinished = frozenset(str(row[0]) for text in sections[1].splitlines() for row in parse_rows(text))
    then, now = parse_listing(listing), parse_listing(sections[2])
    touched = {path for path in marks if path not in now or then.get(path) != now[path]}
    return HostIndex(marks, frozenset(touched | set(damaged)), unfinished, base=_base(header))


def _base(header: bytes) -> str | None:
    """Return `header`, the first line of an index (two digests), as text. Return NO_INDEX if it is empty, because the
    host has no index, or None if the line is damaged."""
    if not header:
        return NO_INDEX
    return header.decode() if _HEADER.fullmatch(header) else None


def parent_folders(paths: Iterable[str]) -> set[str]:
    """Return all folders above these paths, except the root of the tree."""
    found: set[str] = set()
    for path in paths:
        while "/" in path:
            path = path.rpartition("/")[0]
            if path in found:
                break
            found.add(path)
    return found


def _row_without_time(row: list[object]) -> list[object]:
    """Return an index row (`Entry.index_row`) without its time, so that two rows of a file are equal if only its time
    has changed."""
    return [*row[:3], *row[4:]]


def parse_rows(line: bytes) -> list[list[object]]:
    """Parse a line of index rows. A damaged line gives no rows, so that all files are sent again."""
    try:
        value = json.loads(line or b"[]")
    except ValueError:
        return []
    if not isinstance(value, list):
        return []
    return [row for row in value if isinstance(row, list) and len(row) == 6 and isinstance(row[0], str)]


def parse_listing(text: bytes) -> dict[str, bytes]:
    """Parse a listing of files on a host. The result maps each path to its mode, size and times, as one text to
    compare.

    A file is listed as `//MODE/SIZE/MODIFIED/CHANGED/./PATH`, a folder as `//MODE/./PATH`. Two slashes mark the start
    of a file, because they never follow each other in a synced path."""
    found: dict[str, bytes] = {}
    for record in text.split(b"//")[1:]:
        look, _, name = record.partition(b"/./")
        found[name.removesuffix(b"\n").decode("utf-8", "surrogateescape")] = look
    return found
