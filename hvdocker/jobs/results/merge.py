"""Merge the staged files of several hosts into one folder. Equal files are kept once; files that differ are
kept side by side, with the host in the name. Existing files that are not from the same job are never
replaced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker.errors import UsageProblem

MANIFEST = ".fetched-files.json"
_CHUNK = 1 << 20


@dataclass
class FetchedFiles:
    """The result of a fetch. `hosts` are the hosts that this fetch read. `files` and `bytes` count what was moved
    into `folder`. `clashes` are paths that differ between hosts; each host's version is kept as name.<host>.
    `skipped` has what could not be fetched, with the reason."""

    folder: Path
    hosts: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0
    clashes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def merge(job: str, staged: Sequence[tuple[str, Path]], report: FetchedFiles) -> None:
    """Move all files from the staging folders into `report.folder`, and fill in `report`.

    `staged` has pairs of a host and its staging folder. Raises UsageProblem, and moves nothing, if a file that is
    not from this job would be replaced."""
    earlier = _read_manifest(report.folder, job)
    moves = _choose_names(staged, report, earlier)
    strangers = [
        name
        for name in moves
        if (name not in earlier and _is_taken(report.folder / name)) or _is_blocked(report.folder, name)
    ]
    if strangers:
        raise UsageProblem(
            f"{report.folder} already has files of these names that are not from {job}",
            lines=strangers[:10],
            fix="fetch into an empty folder",
        )
    for name, (_, path) in moves.items():
        _move(path, report.folder / name, report)
    _make_empty_folders(staged, report.folder)
    origins = {name: host for name, (host, _) in moves.items()}
    _write_manifest(report.folder, job, {**earlier, **origins})
    report.hosts = tuple(sorted({host for host, _ in staged}))


def _choose_names(
    staged: Sequence[tuple[str, Path]], report: FetchedFiles, earlier: Mapping[str, str]
) -> dict[str, tuple[str, Path]]:
    """Return the final name of every file to move, with its host and staged path. Add clashes to `report`.

    `earlier` has the host by file name for the files of earlier fetches. Such a file is replaced by a new version
    from the same host. A different version from another host is a clash."""
    versions, folders = _collect(staged)
    present = {host for host, _ in staged}
    moves: dict[str, tuple[str, Path]] = {}
    for name, found in versions.items():
        stays = earlier.get(name) not in (None, *present) and _is_taken(report.folder / name)
        contents = {_content(path) for _, path in found}
        if stays:
            contents.add(_content(report.folder / name))
        if len(contents) == 1 and name not in folders:
            if not stays:
                moves[name] = found[0]
            continue
        report.clashes.append(name)
        for host, path in found:
            others = {other: origin for other, origin in earlier.items() if origin != host}
            moves[_free_name(f"{name}.{host}", versions, moves, others)] = (host, path)
    return moves


def _collect(staged: Sequence[tuple[str, Path]]) -> tuple[dict[str, list[tuple[str, Path]]], set[str]]:
    """Return two things: by relative name, all staged versions of a file as (host, path); and the names that are
    folders on some host."""
    versions: dict[str, list[tuple[str, Path]]] = {}
    folders: set[str] = set()
    for host, place in staged:
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place).as_posix()
            if path.is_dir() and not path.is_symlink():
                folders.add(name)
            else:
                versions.setdefault(name, []).append((host, path))
    return versions, folders


def _free_name(name: str, *taken: Mapping[str, object]) -> str:
    """Append `_` to the name until it is in none of the mappings `taken`, whose keys are the names of other files."""
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
    """Return a text that is equal for two files with the same content, two symlinks with the same target, or two
    folders."""
    if path.is_symlink():
        return f"link {path.readlink()}"
    if path.is_dir():
        return "folder"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _read_manifest(folder: Path, job: str) -> dict[str, str]:
    """Return, by file name, the host that the file came from in earlier fetches of the same job into `folder`.
    Empty if the manifest is missing, damaged, or from another job."""
    try:
        value = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return dict(value["files"]) if value["job"] == job else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _write_manifest(folder: Path, job: str, files: Mapping[str, str]) -> None:
    text = json.dumps({"job": job, "files": dict(files)}, indent=1)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
