"""Outputs and logs come home: one folder, equal files once, clashes side by side and named."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from hvdocker.commands import files
from hvdocker.errors import HvdockerError
from hvdocker.hosts.link import HostLink

_CHUNK = 1 << 20


@dataclass
class Fetched:
    """`clashes` are paths that differ between hosts; each host's version is kept as name.<host>."""

    folder: Path
    files: int = 0
    bytes: int = 0
    clashes: list[str] = field(default_factory=list)


def fetch_job(links: Sequence[HostLink], folders: Sequence[str], target: Path) -> Fetched:
    """Everything is unpacked beside the target first, so that a broken link leaves nothing half-done."""
    target.mkdir(parents=True, exist_ok=True)
    report = Fetched(target)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
        staged = []
        for link, folder in zip(links, folders, strict=True):
            place = Path(scratch) / link.name
            place.mkdir()
            _unpack(link.stream(files.pack(folder, ["out", "logs"])), place, link.name)
            staged.append((link.name, place))
        _merge(staged, report)
    return report


def _merge(staged: Sequence[tuple[str, Path]], report: Fetched) -> None:
    versions: dict[str, list[tuple[str, Path]]] = {}
    folders = {
        path.relative_to(place).as_posix()
        for _, place in staged
        for path in place.rglob("*")
        if path.is_dir() and not path.is_symlink()
    }
    for host, place in staged:
        for path in sorted(place.rglob("*")):
            if path.is_symlink() or path.is_file():
                versions.setdefault(path.relative_to(place).as_posix(), []).append((host, path))
            elif not any(path.iterdir()):
                (report.folder / path.relative_to(place)).mkdir(parents=True, exist_ok=True)
    for name, found in versions.items():
        differs = name in folders or len({_content(path) for _, path in found}) > 1
        if differs:
            report.clashes.append(name)
        for host, path in found if differs else found[:1]:
            _move(path, report.folder / (f"{name}.{host}" if differs else name), report)


def _move(path: Path, target: Path, report: Fetched) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        report.bytes += path.stat().st_size
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    path.replace(target)
    report.files += 1


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


class _Pipe:
    """Just enough of a file for tarfile to read a stream."""

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


def _unpack(chunks: Iterator[bytes], place: Path, host: str) -> None:
    """A host's word is not trusted: nothing may land outside of `place`, no devices, no odd modes."""
    pipe = _Pipe(chunks)
    try:
        with tarfile.open(fileobj=pipe, mode="r|") as tar:  # type: ignore[call-overload]  # read() is enough
            for member in tar:
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise HvdockerError(
                        f"refused to write {member.name}: it lies outside the job's folder", host=host
                    )
                if (
                    member.isfile()
                    or member.isdir()
                    or (member.issym() and _stays_inside(path, member.linkname))
                ):
                    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
                    tar.extract(member, place, set_attrs=True, **_FILTER)
    except tarfile.TarError as error:
        pipe.drain()
        raise HvdockerError("the outputs arrived damaged", host=host, lines=[str(error)]) from error
    pipe.drain()


def _stays_inside(path: PurePosixPath, target: str) -> bool:
    depth = len(path.parts) - 1
    if target.startswith("/"):
        return False
    for part in PurePosixPath(target).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
    return True


# The `filter` argument came with 3.12 and late patch releases of 3.10 and 3.11.
_FILTER: dict[str, str] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
