"""Files in and out of containers, as tar archives through the engine's API."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable

from docker import APIClient

from hvdocker.commands.ssh_files import FileSpec, with_user
from hvdocker.model import names


def put_files(engine: APIClient, container: str, files: Iterable[FileSpec], uid: int, gid: int) -> None:
    """Below /run/hvdocker, owned by the container's user, with exactly these modes."""
    engine.put_archive(container, "/run", _pack(files, uid, gid))


def add_user(engine: APIClient, container: str, uid: int, gid: int) -> None:
    """The container's user gets a line in its /etc/passwd: sshd and ssh insist on one."""
    if uid == 0:
        return
    passwd = with_user(read_text(engine, container, "/etc/passwd") or "", uid, gid)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        _add(tar, "passwd", passwd, 0o644, 0, 0)
    engine.put_archive(container, "/etc", buffer.getvalue())


def read_text(engine: APIClient, container: str, path: str) -> str | None:
    """A file of a container, running or not; None where it is not there."""
    from docker.errors import NotFound

    try:
        chunks, _ = engine.get_archive(container, path)
    except NotFound:
        return None
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
        member = tar.next()
        content = tar.extractfile(member) if member else None
        return content.read().decode("utf-8", "replace") if content else None


def _pack(files: Iterable[FileSpec], uid: int, gid: int) -> bytes:
    top = names.IN_CONTAINER.rsplit("/", 1)[1]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for file in files:
            _add(tar, f"{top}/{file.path}".rstrip("/"), file.content, file.mode, uid, gid)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: str | None, mode: int, uid: int, gid: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.uid, entry.gid = mode, uid, gid
    if content is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
        return
    data = content.encode()
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
