"""Read the files of a job from one host: what the SSH user can read, then what only root or the engine can."""

from __future__ import annotations

import os
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.jobs.results.code_files import CodeFile
from hvdocker.jobs.results.unpack import Unpacked, unpack
from hvdocker.shell import host_folders
from hvdocker.shell.command import Command
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink

OUTPUT_FOLDERS = ("out", "logs")


@dataclass(frozen=True)
class JobSource:
    """Where one host has files of a job.

    `folder` is the job's folder there, None if only `code` is to be read. `code` are the files that the job left in
    the code folder; their paths are relative to `cluster_dir`, the cluster's folder. `container` is the name of a
    container that has these folders mounted: through it the engine reads files that the SSH user may not read. None
    if there is no such container."""

    link: HostLink
    folder: str | None
    cluster_dir: str = ""
    code: tuple[CodeFile, ...] = ()
    container: str | None = None


@dataclass
class HostFiles:
    """What was read from a host. `places` are the staging folders on the controller that have the files. `skipped` has
    entries that were left out, with the host and the reason. `unread` has files that could not be read, with the
    reason."""

    places: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def read_host(job: str, source: JobSource, make_place: Callable[[], Path]) -> HostFiles:
    """Read the files of a job from one host into staging folders, and return these folders and what could not be read.
    `make_place` makes a new, empty staging folder each time it is called."""
    found = HostFiles()
    if source.folder is not None:
        _Outputs(job, source, make_place, found).read()
    if source.code:
        _Code(job, source, make_place, found).read()
    return found


@dataclass
class _Part(ABC):
    """One kind of a job's files on a host (its outputs, or what it left in the code folder), and how they are read.
    `source` says where they are. Each try to read them calls `make_place` for a new, empty staging folder on the
    controller. `found` collects the result."""

    job: str
    source: JobSource
    make_place: Callable[[], Path]
    found: HostFiles

    def read(self) -> None:
        """Read the files of this part as the SSH user into a new staging folder. If some cannot be read, read all files
        once more as root. If that fails too, or if there are folders that the SSH user cannot read (`closed`), read
        what is missing through the engine. Files that cannot be read in any of these ways are named in
        `found.unread`."""
        place = self.make_place()
        came = self.unpack(place, self.pack())
        if came.error:
            # A container that runs as another user may have written files that only root can read. A new staging
            # folder: entries of the first try would be in the way.
            as_root = self.make_place()
            by_root = self._unpack_as_root(as_root)
            if by_root and not by_root.error:
                place, came = as_root, by_root
        if came.error or self.closed():
            self._read_through_engine(self.unread_paths(place, came), place)
        self.found.places.append(place)
        self.found.skipped += came.skipped

    @abstractmethod
    def pack(self) -> Command:
        """Return the command that prints the files of this part as a tar archive, on the host."""

    def listed(self) -> list[bytes] | None:
        """Return the paths to pack, as standard input of the command from `pack`. Return None if that command needs no
        input."""
        return None

    def closed(self) -> list[str]:
        """Return the paths of folders that the SSH user is known to be unable to read."""
        return []

    def rename(self, path: str) -> str:
        """Return the path that the file `path` of the host gets in the job's folder on the controller."""
        return path

    @abstractmethod
    def mounted(self, path: str) -> str:
        """Return the path that the file `path` of the host has in a container that mounts its folder."""

    @abstractmethod
    def unread_paths(self, place: Path, came: Unpacked) -> list[str]:
        """Return the paths, on the host, of files that did not arrive. `place` is the staging folder with the files
        that arrived; `came` is the result of unpacking."""

    def unpack(self, place: Path, command: Command) -> Unpacked:
        chunks = self.source.link.stream(command, self.listed())
        return unpack(self.job, chunks, place, self.source.link.name, self.rename)

    def _unpack_as_root(self, place: Path) -> Unpacked | None:
        try:
            return self.unpack(place, self.pack().as_root())
        except (HvdockerError, FileNotFoundError):
            # FileNotFoundError: the controller itself is the host, and has no sudo.
            return None

    def _read_through_engine(self, paths: Sequence[str], place: Path) -> None:
        """Read the files `paths` of the host through the engine, which reads as root, and unpack them below `place`.
        Those that fail are added to `found.unread`."""
        for path in paths:
            if problem := self._read_path(path, place):
                self.found.unread.append(f"{self.rename(path)}: {problem}")

    def _read_path(self, path: str, place: Path) -> str | None:
        """Read the file or folder `path` through the engine, and unpack it below `place`. Return None, or the reason as
        text if the path cannot be read."""
        link, above = self.source.link, posixpath.dirname(self.rename(path))
        if self.source.container is None:
            return "permission denied"
        try:
            with translating_errors(link.name, f"reading {path}"):
                chunks, _ = link.engine().get_archive(self.source.container, self.mounted(path))
        except HvdockerError as error:
            if error.exit_code != HvdockerError.exit_code:
                raise
            return f"permission denied, also for the engine: {' '.join(error.lines)}"
        came = unpack(self.job, chunks, place, link.name, lambda name: posixpath.join(above, name))
        self.found.skipped += came.skipped
        return None


class _Outputs(_Part):
    """Reads the job's outputs and logs: the folders `out` and `logs` of the job."""

    @property
    def folder(self) -> str:
        return self.source.folder or ""

    def pack(self) -> Command:
        return host_folders.pack_tar(self.folder, OUTPUT_FOLDERS)

    def mounted(self, path: str) -> str:
        return f"{names.JOBS_MOUNT}/{self.job}/{path}"

    def unread_paths(self, place: Path, came: Unpacked) -> list[str]:
        command = host_folders.list_unreadable(self.folder, OUTPUT_FOLDERS)
        paths = _split_paths(self.source.link.run(command, timeout_s=None).out)
        if not paths and came.error:
            # The SSH user can read all files, so the error has another cause.
            raise came.error
        return paths


class _Code(_Part):
    """Reads the files that the job left in the code folder."""

    def pack(self) -> Command:
        return host_folders.pack_listed(self.source.cluster_dir)

    def unpack(self, place: Path, command: Command) -> Unpacked:
        # Some versions of tar refuse to make an archive without a file.
        return super().unpack(place, command) if self.listed() else Unpacked([])

    def listed(self) -> list[bytes]:
        return [_ended(file.source) for file in self.source.code if not file.is_closed]

    def closed(self) -> list[str]:
        return [file.source for file in self.source.code if file.is_closed]

    @cached_property
    def _names(self) -> dict[str, str]:
        return {file.source: file.name for file in self.source.code}

    def rename(self, path: str) -> str:
        return self._names.get(path, path)

    def mounted(self, path: str) -> str:
        top, _, rest = path.partition("/")
        return f"{names.JOBS_MOUNT if top == 'jobs' else names.CODE_MOUNT}/{rest}"

    def unread_paths(self, place: Path, came: Unpacked) -> list[str]:
        """Return the paths of files that did not arrive though they still exist on the host, and of the folders that
        the SSH user cannot read. A file that a running job removed after it was listed does not count as missing.
        `place` is the staging folder with the files that arrived, `came` the result of unpacking.

        Raises the error in `came` if all files arrived, but some without all their content, and the SSH user could
        read all folders."""
        expected = [file.source for file in self.source.code if not file.is_closed]
        missing = [path for path in expected if not os.path.lexists(place / self.rename(path))]
        if not missing:
            if came.error and not self.closed():
                # All names arrived, but tar could not read all contents, such as on a bad disk.
                raise came.error
            return self.closed()
        command = host_folders.list_existing(self.source.cluster_dir)
        answer = self.source.link.run(command, [_ended(path) for path in missing], timeout_s=None).out
        return [*_split_paths(answer), *self.closed()]


def _ended(path: str) -> bytes:
    return f"{path}\0".encode("utf-8", "surrogateescape")


def _split_paths(answer: bytes) -> list[str]:
    return [path.decode("utf-8", "surrogateescape") for path in answer.split(b"\0") if path]
