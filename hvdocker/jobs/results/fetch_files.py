"""Fetch outputs and logs from every host that had a rank, as one tar stream per host. The archives are not
trusted: nothing may be written outside of the job's folder."""

from __future__ import annotations

import errno
import os
import posixpath
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.jobs.results.merge import FetchedFiles, merge
from hvdocker.shell import host_folders
from hvdocker.transport.link import HostLink


def fetch_job(job: str, links: Sequence[HostLink], folders: Sequence[str], target: Path) -> FetchedFiles:
    """Fetch the folders `out` and `logs` of a job from its hosts and merge them into `target`.

    `folders` has the job's folder on the host of each link, in the order of `links`. All archives are unpacked
    into a scratch folder first, so that a broken link leaves no partial result."""
    target.mkdir(parents=True, exist_ok=True)
    report = FetchedFiles(target)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=target) as scratch:
        staged = []
        for link, folder in zip(links, folders, strict=True):
            place = Path(scratch) / link.name
            report.skipped += _fetch_host(job, link, folder, place)
            staged.append((link.name, place))
        merge(job, staged, report)
    return report


def _fetch_host(job: str, link: HostLink, folder: str, place: Path) -> list[str]:
    place.mkdir()
    command = host_folders.pack_tar(folder, ["out", "logs"])
    try:
        return _unpack(job, link.stream(command), place, link.name)
    except HvdockerError as error:
        if error.exit_code != HvdockerError.exit_code:
            raise
        # A container that runs as another user may have written files that only root can read: retry as root.
        try:
            return _unpack(job, link.stream(command.as_root()), place, link.name)
        except (HvdockerError, FileNotFoundError):
            # FileNotFoundError: the controller itself is the host, and has no sudo.
            raise error from None


# Errors that a bad archive causes: names that are too long, a folder over a file. Other OSErrors come from
# the controller (a full disk) or the connection, and are raised as they are.
_ARCHIVE_ERRNOS = (
    errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP, errno.ENOTEMPTY
)  # fmt: skip


class _StreamReader:
    """Gives chunks of bytes the minimal file interface that tarfile needs to read a stream."""

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


def _unpack(job: str, chunks: Iterator[bytes], place: Path, host: str) -> list[str]:
    """Unpack an archive below `place`; return the entries that were skipped, with the reason."""
    pipe = _StreamReader(chunks)
    skipped: list[str] = []
    try:
        with tarfile.open(fileobj=pipe, mode="r|") as tar:  # type: ignore[call-overload]  # read() is enough
            for member in tar:
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
    pipe.drain()
    return skipped


def _refuse_unsafe_path(name: str, place: Path, host: str) -> None:
    """Raise for an entry outside of `out` and `logs`, or below a symlink, which tarfile would follow."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise HvdockerError(f"refused to write {name}: it lies outside the job's folder", host=host)
    if path.parts[:1] not in (("out",), ("logs",)):
        raise HvdockerError(f"refused to write {name}: it is not of the job's outputs or logs", host=host)
    if any((place / above).is_symlink() for above in (path, *path.parents)):
        raise HvdockerError(f"refused to write {name}: a link lies in its way", host=host)


def _sanitize_member(member: tarfile.TarInfo, job: str, place: Path) -> str | None:
    """Change an archive entry so that it is safe to extract below `place`. Return why the entry has to be skipped,
    or None if it can be extracted."""
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
    """Write an archive entry below `place`. Links are created here and not by tarfile: if tarfile cannot create a
    link, it extracts the entry that it takes for the link's target instead."""
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
    """Return a symlink target that works on the controller. An absolute path into the container's output folder
    becomes relative to the folder of the link (`path`); any other target is returned unchanged."""
    for top in ("/out", f"{names.CONTAINER_FOLDER}/out", f"{names.JOBS_MOUNT}/{job}/out"):
        if target == top or target.startswith(f"{top}/"):
            inside = PurePosixPath("out") / target[len(top) :].lstrip("/")
            return os.path.relpath(inside, path.parent)
    return target


def _stays_inside(folder: PurePosixPath, target: str) -> bool:
    """Return whether a link target never leaves the top folder of the archive. `folder` is the folder that
    contains the link."""
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
