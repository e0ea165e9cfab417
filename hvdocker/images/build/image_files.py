"""Reads files of an image without running any program of the image, so that the image needs no shell."""

from __future__ import annotations

import base64
import io
import json
import posixpath
import tarfile
from collections.abc import Iterable
from typing import Any

from docker import APIClient

from hvdocker.images.build.trial import trial_container

_MOST_LINKS = 8
_MOST_BYTES = 1 << 20
# Go's bit of a symbolic link in the mode of a file.
_GO_LINK = 1 << 27


def files_of_image(engine: APIClient, image: str, paths: Iterable[str]) -> dict[str, int]:
    """Return the permission bits of those of `paths` that exist in the image, by path. Links are followed."""
    with trial_container(engine, image, ("none",)) as container:
        found = ((path, _mode(engine, container, path)) for path in paths)
        return {path: mode for path, mode in found if mode is not None}


def text_of_image(engine: APIClient, image: str, path: str) -> str:
    """Return the text of a small file of the image. Return empty text if there is no such file, or if it is larger than
    1 MiB."""
    from docker.errors import APIError

    with trial_container(engine, image, ("none",)) as container:
        try:
            chunks, stat = engine.get_archive(container, _follow_links(engine, container, path) or path)
        except APIError:
            return ""
        if stat["size"] > _MOST_BYTES:
            return ""
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
            file = tar.extractfile(tar.getmembers()[0])
            return file.read().decode("utf-8", "replace") if file else ""


def _mode(engine: APIClient, container: str, path: str) -> int | None:
    real = _follow_links(engine, container, path)
    stat = _stat(engine, container, real) if real else None
    return stat["mode"] & 0o777 if stat else None


def _follow_links(engine: APIClient, container: str, path: str) -> str | None:
    """Return the path to which the symbolic links at `path` lead; without links that is `path` itself. Return None if
    there is no such file or there are more than _MOST_LINKS links."""
    for _ in range(_MOST_LINKS):
        stat = _stat(engine, container, path)
        if stat is None:
            return None
        if not stat["mode"] & _GO_LINK:
            return path
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), stat["linkTarget"]))
    return None


def _stat(engine: APIClient, container: str, path: str) -> dict[str, Any] | None:
    """Return the engine's description of a file (`Any`: parsed JSON), or None if there is no such file or the engine
    reports an error. The SDK has no function for this request."""
    response = engine.head(engine._url("/containers/{0}/archive", container), params={"path": path}, timeout=60)
    header = response.headers.get("X-Docker-Container-Path-Stat")
    if response.status_code != 200 or not header:
        return None
    found: dict[str, Any] = json.loads(base64.b64decode(header))
    return found
