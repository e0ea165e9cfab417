"""Merge the staged files of several hosts into one folder. Equal files are kept once; files that differ are
kept side by side, with the host in the name. Existing files that are not from the same job are never
replaced."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker.errors import HvdockerError, UsageProblem

MANIFEST = ".fetched-files.json"
_CHUNK = 1 << 20
_MOST_SHOWN = 10
# File systems take 255 bytes. The rest is room for suffixes that keep names apart.
_MOST_NAME_BYTES = 240


@dataclass
class FetchedFiles:
    """The result of a fetch. `hosts` are the hosts that this fetch read completely. `files` and `bytes` are the number
    and total size of the files that were moved into `folder`. `code_files` is the number of those files that came from
    the code folder.

    `clashes` are paths whose files differ between hosts; each version that this fetch read is kept as name.<host>.
    `skipped` has what was left out, such as pipes or the lost beginning of a log; `unread` has what could not be
    read. The items of both are texts that include the reason. `code` has, by host, a digest of the job's files in
    the code folder."""

    folder: Path
    hosts: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0
    clashes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    code_files: int = 0
    code: dict[str, str] = field(default_factory=dict)

    @property
    def incomplete_error(self) -> HvdockerError | None:
        """The error that names the files that could not be read (`unread`); None if all were read."""
        if not self.unread:
            return None
        return HvdockerError(
            "some files of the job cannot be read, and are not home",
            lines=self.unread[:_MOST_SHOWN],
            fix="make them readable on the host (sudo chmod -R a+rX), then fetch again",
        )


# Where a file on the controller came from: the host, and the name that the file has there.
Origin = tuple[str, str]


def merge(job: str, staged: Sequence[tuple[str, Path]], report: FetchedFiles) -> None:
    """Move all files from the staging folders into `report.folder`, and fill in `report`.

    `staged` has pairs of a host and a staging folder with files from it. Raises UsageProblem, and moves nothing, if a
    file that is not from this job would be replaced."""
    earlier = _read_manifest(report.folder, job)
    found = _collect(staged)
    moves = _choose_names(found, report, earlier)
    strangers = [
        name
        for name in moves
        if (name not in earlier and _is_taken(report.folder / name)) or _is_blocked(report.folder, name)
    ]
    if strangers:
        raise UsageProblem(
            f"{report.folder} already has files of these names that are not from {job}",
            lines=strangers[:_MOST_SHOWN],
            fix="fetch into an empty folder",
        )
    origins = {name: origin for name, (origin, _) in moves.items()}
    # Before the first move: after an interruption the next fetch has to know these files as the job's.
    _write_manifest(report.folder, job, {**earlier, **origins})
    for name, (_, path) in moves.items():
        _move(path, report.folder / name, report)
    report.code_files = sum(name.startswith("code/") for name in moves)
    _make_empty_folders(staged, report.folder)
    came = {(host, name) for name, paths in found.versions.items() for host, _ in paths}
    stale = {name for name, origin in earlier.items() if origin in came and name not in moves}
    for name in stale:
        # This host's version of the file has another name now: a plain one has become a clash, or the reverse.
        if not _is_blocked(report.folder, name):
            (report.folder / name).unlink(missing_ok=True)
    kept = {name: origin for name, origin in earlier.items() if name not in stale}
    _write_manifest(report.folder, job, {**kept, **origins})


def _choose_names(
    staged: _Staged, report: FetchedFiles, earlier: Mapping[str, Origin]
) -> dict[str, tuple[Origin, Path]]:
    """Return the final name of every file to move, with its origin (host and name there) and its staged path. Add
    clashes (files that differ between hosts) to `report`.

    `earlier` has, by file name, the origin of each file of earlier fetches. A new version from the same host replaces
    such a file. A different version from another host is a clash."""
    moves: dict[str, tuple[Origin, Path]] = {}
    for name, found in staged.versions.items():
        stays = name in earlier and earlier[name][0] not in staged.hosts and _is_taken(report.folder / name)
        contents = {_content(path) for _, path in found}
        if stays:
            contents.add(_content(report.folder / name))
        if len(contents) == 1 and name not in staged.folders:
            if not stays:
                moves[name] = ((found[0][0], name), found[0][1])
            continue
        report.clashes.append(name)
        for host, path in found:
            others = {other: origin for other, origin in earlier.items() if origin[0] != host}
            moves[_free_name(_name_with_host(name, host), staged.versions, moves, others)] = ((host, name), path)
    return moves


def _name_with_host(name: str, host: str) -> str:
    """Return `name.<host>`, the name of one host's version of a file. If the last part of this path is too long for a
    file system, it is cut, and a digest is appended that keeps two long names different."""
    above, slash, last = name.rpartition("/")
    if len(os.fsencode(f"{last}.{host}")) > _MOST_NAME_BYTES:
        digest = hashlib.sha256(os.fsencode(last)).hexdigest()[:8]
        room = _MOST_NAME_BYTES - len(os.fsencode(f"~{digest}.{host}"))
        last = f"{os.fsencode(last)[:room].decode('utf-8', 'ignore')}~{digest}"
    return f"{above}{slash}{last}.{host}"


@dataclass(frozen=True)
class _Staged:
    """What is in the staging folders of `hosts`. `versions` has, by name relative to the staging folder, the versions
    of a file as pairs (host, path). `folders` are the names that are a folder on at least one host."""

    hosts: frozenset[str]
    versions: dict[str, list[tuple[str, Path]]] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)


def _collect(staged: Sequence[tuple[str, Path]]) -> _Staged:
    found = _Staged(frozenset(host for host, _ in staged))
    for host, place in staged:
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place).as_posix()
            if path.is_dir() and not path.is_symlink():
                found.folders.add(name)
            else:
                found.versions.setdefault(name, []).append((host, path))
    return found


def _free_name(name: str, *taken: Mapping[str, object]) -> str:
    """Return `name`, or `name` with `_` appended as often as needed until no other file has this name. The keys of the
    mappings `taken` are the names of other files."""
    while any(name in names for names in taken):
        name += "_"
    return name


def _make_empty_folders(staged: Sequence[tuple[str, Path]], target: Path) -> None:
    for _, place in staged:
        for path in place.rglob("*"):
            name = path.relative_to(place).as_posix()
            if not path.is_dir() or path.is_symlink() or _is_blocked(target, name):
                continue
            if not _is_taken(target / name):
                (target / name).mkdir(parents=True)


def _move(path: Path, target: Path, report: FetchedFiles) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        report.bytes += path.stat().st_size
    path.replace(target)
    report.files += 1


def _is_taken(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _is_blocked(folder: Path, name: str) -> bool:
    """Return whether `name` cannot be created in `folder`, because a file or a symlink exists in place of one of
    its parent folders."""
    above = [folder / parent for parent in Path(name).parents[:-1]]
    return any(path.is_symlink() or (path.exists() and not path.is_dir()) for path in above)


def _content(path: Path) -> str:
    """Return a text by which entries are compared. It is equal for two files with the same content, for two symlinks
    with the same target, and for any two folders."""
    if path.is_symlink():
        return f"link {path.readlink()}"
    if path.is_dir():
        return "folder"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _read_manifest(folder: Path, job: str) -> dict[str, Origin]:
    """Return, by file name, the origin (host and name there) of the files that came in earlier fetches of the same job
    into `folder`. Each fetch writes them to the manifest, the file MANIFEST in `folder`. Empty if it is missing,
    damaged, or from another job."""
    try:
        value = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = dict(value["files"]) if value["job"] == job else {}
        return {name: _origin(name, told) for name, told in files.items()}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _origin(name: str, told: str | list[str]) -> Origin:
    """Return the origin of the file `name`, from its entry `told` in a manifest (the file that lists what was fetched
    into a folder): the host and the name there. An entry of an earlier version of hvdocker has only the host; then the
    name there is `name`."""
    return (told, name) if isinstance(told, str) else (told[0], told[1])


def _write_manifest(folder: Path, job: str, files: Mapping[str, Origin]) -> None:
    text = json.dumps({"job": job, "files": dict(files)}, indent=1)
    draft = folder / f"{MANIFEST}.part"
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(folder / MANIFEST)
