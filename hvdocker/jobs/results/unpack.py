"""Unpack the tar stream of a host. The archives are not trusted: nothing may be written outside of the job's folder."""

from __future__ import annotations

import errno
import os
import posixpath
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hvdocker import names
from hvdocker.errors import HvdockerError

# The folders of a job on the controller that come from hosts.
TOP_FOLDERS = ("out", "logs", "code")
Rename = Callable[[str], str]

# Errors that a bad archive causes: names that are too long, a folder over a file. Other OSErrors come from
# the controller (a full disk) or the connection, and are raised as they are.
_ARCHIVE_ERRNOS = (
    errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP, errno.ENOTEMPTY
)  # fmt: skip


class _StreamReader:
    """Makes chunks of bytes readable for tarfile, which needs an object with a method `read`. `drain` reads the rest of
    the chunks, so that the command that sends them can end."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def drain(self) -> None:
        for _ in self._chunks:
            pass


@dataclass(frozen=True)
class Unpacked:
    """The result of unpacking an archive. `skipped` has the entries that were left out, with the reason. `error` is the
    error of the command that made the archive, None if it succeeded. If there is an error, the archive may lack files
    that the command could not read."""

    skipped: list[str]
    error: HvdockerError | None = None


def unpack(job: str, chunks: Iterator[bytes], place: Path, host: str, rename: Rename = str) -> Unpacked:
    """Unpack an archive of the job's files, which `host` sends as `chunks`, below `place`. `rename` maps the name of an
    entry to its path below `place`; by default both are the same. Raises HvdockerError if the archive is damaged or has
    an entry that would be written outside of the job's folders."""
    pipe = _StreamReader(chunks)
    skipped: list[str] = []
    try:
        with tarfile.open(fileobj=pipe, mode="r|") as tar:  # type: ignore[call-overload]  # read() is enough
            for member in tar:
                member.name = rename(member.name)
                member.linkname = rename(member.linkname) if member.islnk() else member.linkname
                _refuse_unsafe_path(member.name, place, host)
                problem = _sanitize_member(member, job, place)
                if problem:
                    skipped.append(f"{host}: {member.name}: {problem}")
                else:
                    _extract_member(tar, member, place)
    except (tarfile.TarError, OSError, ValueError, LookupError) as error:
        if isinstance(error, OSError) and error.errno not in _ARCHIVE_ERRNOS:
            raise
        pipe.drain()
        raise HvdockerError("the outputs arrived damaged", host=host, lines=[str(error)]) from error
    try:
        pipe.drain()
    except HvdockerError as error:
        if error.exit_code != HvdockerError.exit_code:
            raise
        return Unpacked(skipped, error)
    return Unpacked(skipped)


def _refuse_unsafe_path(name: str, place: Path, host: str) -> None:
    """Raise HvdockerError, which names `host`, if an archive entry with this name would be written outside of
    TOP_FOLDERS below `place`, or through a symlink there, which tarfile would follow."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise HvdockerError(f"refused to write {name}: it lies outside the job's folder", host=host)
    if not path.parts or path.parts[0] not in TOP_FOLDERS:
        raise HvdockerError(f"refused to write {name}: it is not of the job's outputs, logs or code", host=host)
    if any((place / above).is_symlink() for above in (path, *path.parents)):
        raise HvdockerError(f"refused to write {name}: a link lies in its way", host=host)


def _sanitize_member(member: tarfile.TarInfo, job: str, place: Path) -> str | None:
    """Change an archive entry so that it is safe to extract below `place`: plain modes, and targets of links that stay
    inside. `job` is the id of the job, for symlinks into its output folder. Return why the entry has to be skipped, or
    None if it can be extracted."""
    path = PurePosixPath(member.name)
    if len(path.parts) == 1 and not member.isdir():
        return "not a folder"
    if member.issym():
        # A normalized target has `..` only in front: so no chain of links, each one safe, can lead outside.
        member.linkname = posixpath.normpath(_rebased_link(path, member.linkname, job))
        return None if _stays_inside(path.parent, member.linkname) else "a link to something outside"
    if member.islnk():
        member.linkname = posixpath.normpath(member.linkname)
        if not _stays_inside(PurePosixPath(), member.linkname):
            return "a link to something outside"
        source = place / member.linkname
        # A hard link to a symlink would resolve it from another folder, perhaps to the outside.
        is_file = source.is_file() and not source.is_symlink()
        return None if is_file else "a link to a file that did not come"
    if not member.isfile() and not member.isdir():
        return "neither a file nor a folder nor a link"
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return None


def _extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """Write an archive entry below `place`. Symlinks and hard links are created without tarfile: if tarfile cannot
    create a link, it instead extracts another entry of the archive, which it assumes to be the target of the link."""
    target = place / member.name
    if not member.issym() and not member.islnk():
        tar.extract(member, place, set_attrs=True, **_FILTER)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        target.symlink_to(member.linkname)
    else:
        target.hardlink_to(place / member.linkname)


def _rebased_link(path: PurePosixPath, target: str, job: str) -> str:
    """Return a symlink target that works on the controller. `target` is the target in the container, `path` the path of
    the symlink in the archive. An absolute target in the output folder of the job, or in the code folder, becomes
    relative to the folder of the symlink. Any other target is returned unchanged."""
    outputs = ("/out", f"{names.CONTAINER_FOLDER}/out", f"{names.JOBS_MOUNT}/{job}/out")
    for top, folder in (*((top, "out") for top in outputs), (names.CODE_MOUNT, "code")):
        if target == top or target.startswith(f"{top}/"):
            inside = PurePosixPath(folder) / target[len(top) :].lstrip("/")
            return os.path.relpath(inside, path.parent)
    return target


def _stays_inside(folder: PurePosixPath, target: str) -> bool:
    """Return whether a symlink or hard link never leads out of the top folder of the archive. `target` is the target of
    the link, relative to `folder`; `folder` is relative to the top folder. An absolute target counts as outside."""
    depth = len(folder.parts)
    if target.startswith("/"):
        return False
    for part in PurePosixPath(target).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
    return True


# Any: typed as a literal. The `filter` argument came with 3.12 and late patch releases of 3.10 and 3.11.
_FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
