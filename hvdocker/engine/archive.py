"""Puts files into containers and reads files from them, as tar archives through the engine's API."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterable, Mapping

from docker import APIClient

from hvdocker import names
from hvdocker.engine.file_spec import FileSpec, with_user


def put_files(engine: APIClient, container: str, files: Iterable[FileSpec], uid: int, gid: int) -> None:
    """Put files into a container, below /run/hvdocker. The files belong to `uid` and `gid` (the container's user) and
    get exactly the modes in `files`. The container may be running or not."""
    folder, _, top = names.CONTAINER_FOLDER.rpartition("/")
    engine.put_archive(container, folder, _pack(files, uid, gid, top))


def put_initial_files(
    engine: APIClient, container: str, files: Iterable[FileSpec], uid: int, gid: int, passwd: str
) -> None:
    """Put all files into a new container before its first start. They are sent as one archive, because the engine
    mounts the container's file system for every archive.

    `files` go below /run/hvdocker and belong to `uid` and `gid` (the container's user). `passwd` is the text of
    /etc/passwd in the image. The container gets this text with a line for its user added, because sshd and ssh require
    one. A container that runs as root (uid 0) keeps its /etc/passwd."""
    users = [] if uid == 0 else [FileSpec("etc/passwd", with_user(passwd, uid, gid), 0o644)]
    engine.put_archive(container, "/", _pack(files, uid, gid, names.CONTAINER_FOLDER.lstrip("/"), users))


def put_secrets(engine: APIClient, container: str, job: str, values: Mapping[str, bytes], uid: int, gid: int) -> None:
    """Put the secrets of a job into the container's folder /run/hvdocker/secrets/<job>, one file for each secret. The
    files belong to `uid` and `gid`, and only `uid` (the container's user) can read them. `values` maps the name of a
    secret, which is also its file name, to its value."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in ("secrets", f"secrets/{job}"):
            _add(tar, folder, None, 0o700, uid, gid)
        for name, value in values.items():
            _add(tar, f"secrets/{job}/{name}", value, 0o400, uid, gid)
    engine.put_archive(container, names.CONTAINER_FOLDER, buffer.getvalue())


def read_secrets(engine: APIClient, container: str, job: str) -> dict[str, bytes]:
    """Return the secrets of a job in a container, as `put_secrets` wrote them: values by name. Return an empty dict if
    the secrets were removed, which happens when the job ends. In a killed master the values may be empty instead
    (OverwriteSecrets)."""
    files = read_files(engine, container, f"{names.SECRETS_FOLDER}/{job}")
    return {name.rpartition("/")[2]: value for name, value in files.items()}


def read_text(engine: APIClient, container: str, path: str) -> str | None:
    """Return the text of a file in a container, which may be running or not. `path` is absolute. Return None if there
    is no such file or no such container."""
    return read_texts(engine, container, path).get(path.rsplit("/", 1)[1])


def read_texts(engine: APIClient, container: str, path: str) -> dict[str, str]:
    """Return the text of a file in a container, or of all files below a folder. `path` is absolute.

    Keys are paths relative to the parent of `path`: for `/a/ssh` a key is `ssh/config`. Return an empty dict if there
    is no such path or no such container. Bytes that are not UTF-8 are replaced."""
    found = read_files(engine, container, path)
    return {name: data.decode("utf-8", "replace") for name, data in found.items()}


def read_files(engine: APIClient, container: str, path: str) -> dict[str, bytes]:
    """Return the content of a file in a container, or of all files below a folder, as bytes. `path` is absolute. Keys
    are paths relative to the parent of `path`: for `/a/ssh` a key is `ssh/config`. Return an empty dict if there is no
    such path or no such container."""
    from docker.errors import NotFound

    try:
        chunks, _ = engine.get_archive(container, path)
    except NotFound:
        return {}
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
        opened = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
        return {name: file.read() for name, file in opened.items() if file}


def _pack(files: Iterable[FileSpec], uid: int, gid: int, top: str, roots: Iterable[FileSpec] = ()) -> bytes:
    """Return a tar archive, to be unpacked in a container. `files` are placed below the folder `top` (such as
    `hvdocker`) and belong to `uid` and `gid`. `roots` are placed at the top of the archive and belong to root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for file in roots:
            _add(tar, file.path, file.content, file.mode, 0, 0)
        for file in files:
            _add(tar, f"{top}/{file.path}".rstrip("/"), file.content, file.mode, uid, gid)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: str | bytes | None, mode: int, uid: int, gid: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.uid, entry.gid = mode, uid, gid
    # Programs in the container detect a changed file by its time; without this it would always be 1970.
    entry.mtime = int(time.time())
    if content is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
        return
    data = content.encode() if isinstance(content, str) else content
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
