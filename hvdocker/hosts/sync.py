"""The same code on every host: only files that differ travel, as one tar; what a sync put there and the
folder no longer has is removed; what jobs wrote beside it stays."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pathspec

from hvdocker.commands import files
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.hosts.link import HostLink, must

ALWAYS_SKIPPED = (".git", ".hvdocker", "__pycache__")
IGNORE_FILES = (".hvdockerignore", ".gitignore")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """A file (with its hash) or a symlink (with its target)."""

    path: str
    sha256: str = ""
    is_executable: bool = False
    target: str = ""
    size: int = 0

    def mark(self) -> list[object]:
        return [self.sha256, self.is_executable, self.target]


@dataclass(frozen=True)
class Tree:
    root: Path
    entries: Mapping[str, Entry]

    @property
    def hash(self) -> str:
        text = json.dumps([[path, *entry.mark()] for path, entry in sorted(self.entries.items())])
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True)
class SyncReport:
    sent: int
    sent_bytes: int
    removed: int
    tree_hash: str


def read_tree(root: Path) -> Tree:
    """Reads and hashes once for all hosts."""
    rules = _ignore_rules(root)
    return Tree(root, {entry.path: entry for entry in _walk(root, rules)})


def sync(link: HostLink, tree: Tree, folder: str) -> SyncReport:
    previous, intact = _compare(link, tree, folder)
    changed = [
        entry
        for path, entry in tree.entries.items()
        if previous.get(path) != entry.mark() or (entry.sha256 and path not in intact)
    ]
    gone = [path for path in previous if path not in tree.entries]
    for command in files.remove_files(folder, gone):
        must(link, command, "removing old files failed", timeout_s=None)
    if changed:
        must(link, files.unpack(folder), "writing the code failed", _pack(tree, changed))
        _, intact = _compare(link, tree, folder)
        broken = [entry.path for entry in changed if entry.sha256 and entry.path not in intact]
        if broken:
            raise HvdockerError(
                f"{len(broken)} files arrived damaged",
                lines=broken[:5],
                fix="is the disk full? run the command again",
            )
    if changed or gone:
        body = json.dumps({path: entry.mark() for path, entry in tree.entries.items()}).encode()
        must(link, files.write_file(_manifest(folder)), "writing the sync's manifest failed", [body])
    return SyncReport(len(changed), sum(entry.size for entry in changed), len(gone), tree.hash)


def _manifest(folder: str) -> str:
    return f"{folder}.manifest"


def _compare(link: HostLink, tree: Tree, folder: str) -> tuple[dict[str, list[object]], set[str]]:
    """What the last sync put there, and which files are what they should be now."""
    paths = [path for path, entry in tree.entries.items() if entry.sha256]
    wanted = "".join(_checksum_line(tree.entries[path].sha256, path) for path in paths)
    result = link.run(
        files.check_tree(folder, _manifest(folder)), [wanted.encode("utf-8", "surrogateescape")]
    )
    manifest, _, verdicts = result.text.partition(f"\n{files.SEPARATOR}\n")
    lines = verdicts.split("\n")[:-1]
    if len(lines) != len(paths):
        return _read_manifest(manifest), set()
    return _read_manifest(manifest), {
        path for path, line in zip(paths, lines, strict=True) if line.endswith(": OK")
    }


def _checksum_line(sha256: str, path: str) -> str:
    """As sha256sum writes it: odd names are escaped and marked by a backslash in front."""
    escaped = path.replace("\\", "\\\\").replace("\n", "\\n")
    return f"{'' if escaped == path else chr(92)}{sha256}  ./{escaped}\n"


def _read_manifest(text: str) -> dict[str, list[object]]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _walk(root: Path, rules: pathspec.GitIgnoreSpec) -> Iterator[Entry]:
    for folder, subfolders, names in os.walk(root, onerror=_unreadable):
        here = Path(folder)
        relative = here.relative_to(root)
        subfolders[:] = sorted(
            name for name in subfolders if not _is_ignored(relative / name, rules, is_folder=True)
        )
        links = [name for name in subfolders if (here / name).is_symlink()]
        subfolders[:] = [name for name in subfolders if name not in links]
        for name in sorted([*names, *links]):
            if not _is_ignored(relative / name, rules, is_folder=False):
                entry = _entry(here / name, (relative / name).as_posix())
                if entry:
                    yield entry


def _unreadable(error: OSError) -> None:
    raise UsageProblem(
        f"cannot read {error.filename}: {error.strerror}",
        fix="make it readable, or name it in .hvdockerignore",
    ) from error


def _entry(path: Path, relative: str) -> Entry | None:
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return Entry(relative, target=str(path.readlink()))
        if not stat.S_ISREG(status.st_mode):
            return None
        return Entry(relative, _hash(path), bool(status.st_mode & stat.S_IXUSR), size=status.st_size)
    except OSError as error:
        raise UsageProblem(
            f"cannot read {path}: {error.strerror}", fix="make it readable, or name it in .hvdockerignore"
        ) from error


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _pack(tree: Tree, entries: list[Entry]) -> Iterator[bytes]:
    """One tar stream; a piece at a time, so that large files never sit in memory."""
    for entry in entries:
        info = tarfile.TarInfo(f"./{entry.path}")
        info.mode = 0o755 if entry.is_executable else 0o644
        info.mtime = 0
        if entry.target:
            info.type, info.linkname = tarfile.SYMTYPE, entry.target
            yield _header(info)
            continue
        info.size = entry.size
        info.mtime = int((tree.root / entry.path).stat().st_mtime)
        yield _header(info)
        yield from _content(tree.root / entry.path, entry.size)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _content(path: Path, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes and padding, even if the file changes meanwhile: the check after it tells."""
    left = size
    with path.open("rb") as file:
        while left:
            chunk = file.read(min(_CHUNK, left)) or bytes(min(_CHUNK, left))
            left -= len(chunk)
            yield chunk
    yield bytes(-size % tarfile.BLOCKSIZE)


def _ignore_rules(root: Path) -> pathspec.GitIgnoreSpec:
    """Exactly git's rules, from the first ignore file that is there."""
    lines: list[str] = []
    for name in IGNORE_FILES:
        path = root / name
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            break
    return pathspec.GitIgnoreSpec.from_lines(lines)


def _is_ignored(path: Path, rules: pathspec.GitIgnoreSpec, is_folder: bool) -> bool:
    if path.name in ALWAYS_SKIPPED:
        return True
    return rules.match_file(f"{path.as_posix()}/" if is_folder else path.as_posix())
