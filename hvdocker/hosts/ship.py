"""Images from one engine to others: saved once into a temporary file, loaded everywhere at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from docker import APIClient

from hvdocker.errors import HvdockerError
from hvdocker.model.seen import image_content

Progress = Callable[[int, int], None]
_CHUNK = 1 << 20


@contextmanager
def saved(engine: APIClient, reference: str, progress: Progress) -> Iterator[Path]:
    """The image as an archive on this machine, for as long as the block lasts."""
    with tempfile.NamedTemporaryFile(prefix="hvdocker-image-", suffix=".tar") as file:
        done = 0
        for chunk in _save(engine, reference):
            file.write(chunk)
            done += len(chunk)
            progress(done, 0)
        file.flush()
        yield Path(file.name)


def load(engine: APIClient, archive: Path, reference: str, content: str, progress: Progress) -> None:
    """Loads, and demands that the very same image came out at the other end."""
    total = archive.stat().st_size
    with archive.open("rb") as file:
        for message in _load(engine, _counted(file, total, progress)):
            if "error" in message:
                raise _load_error(reference, str(message["error"]))
    arrived = image_content(engine.inspect_image(reference))
    if arrived != content:
        raise HvdockerError(
            f"{reference} arrived as another image", lines=[f"sent {content}", f"got {arrived}"]
        )


# The SDK's own calls for these two give up when an engine takes minutes over a large image before it
# says its first word; a host that is really gone is noticed by the connection underneath.


def _save(engine: APIClient, reference: str) -> Iterator[bytes]:
    response = engine._get(engine._url("/images/{0}/get", reference), stream=True, timeout=None)
    yield from engine._stream_raw_result(response, _CHUNK, False)


def _load(engine: APIClient, data: Iterator[bytes]) -> Iterator[dict[str, object]]:
    response = engine._post(
        engine._url("/images/load"), data=data, params={"quiet": True}, stream=True, timeout=None
    )
    yield from engine._stream_helper(response, decode=True)


def _counted(file: IO[bytes], total: int, progress: Progress) -> Iterator[bytes]:
    done = 0
    while chunk := file.read(_CHUNK):
        yield chunk
        done += len(chunk)
        progress(done, total)


def _load_error(reference: str, said: str) -> HvdockerError:
    from hvdocker.errors import HostUnfit

    if "no space left" in said.lower():
        return HostUnfit(
            f"the disk is full: loading {reference}", lines=[said], fix="free some space: docker system prune"
        )
    return HvdockerError(f"loading {reference} failed", lines=[said])
