"""Loads an image into one engine: finds the layers that it has, loads the rest, checks the result."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from docker import APIClient

from hvdocker.errors import FREE_IMAGES_FIX, HostUnfit, HvdockerError
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.part_tags import remove_parts
from hvdocker.images.ship.resumable_parts import (
    ExportedImage,
    ImageLayer,
    Part,
    common_layers,
    split_into_parts,
    whole_image,
)
from hvdocker.observe.state import image_content

OnSent = Callable[[int], None]
_CHUNK = 1 << 20
_CONTAINERD = "io.containerd.snapshotter.v1"
# Estimate: an engine uses about this much disk per byte of layers.
_DISK_FACTOR = 1.05
# The engine's error if it lacks a layer that the archive leaves out.
_LAYER_NOT_FOUND = re.compile(r"docker-import-\w+/[0-9a-f]{64}\.tar: no such file")


@dataclass(frozen=True)
class LayersPresent:
    """How many of an image's layers an engine already has (`count`), counted from the lowest layer up.

    An engine that stores images in containerd (`is_containerd`) must be sent every layer, so its `count` is 0."""

    count: int
    is_containerd: bool = False

    def missing_layers(self, image: ExportedImage) -> tuple[ImageLayer, ...]:
        """Return the layers of the image that have to be sent to this engine."""
        return image.layers if self.is_containerd else image.layers[self.count :]

    def parts(self, image: ExportedImage) -> list[Part]:
        """Return the parts that bring the image to this engine, in the order in which they are loaded. A part is an
        archive for `docker load`; only a large image has several."""
        return whole_image(image) if self.is_containerd else split_into_parts(image, self.count)

    def needs_bytes(self, image: ExportedImage) -> int:
        """Return about how much disk space the engine needs to load the image.

        That is the space of the missing layers, plus the size of the largest part (archive)."""
        sizes = [part.size for part in self.parts(image)]
        return int(sum(sizes) * _DISK_FACTOR) + max(sizes)


def find_layers_present(engine: APIClient, chain: tuple[str, ...]) -> LayersPresent:
    """Return how many layers of `chain` (the digests of an image's layers, lowest first) the engine has.

    The count comes from the image on the engine that shares the most layers with `chain`."""
    if _stores_in_containerd(engine):
        return LayersPresent(0, is_containerd=True)
    return LayersPresent(max((common_layers(chain, layers) for layers in _layer_chains(engine)), default=0))


def _layer_chains(engine: APIClient) -> Iterator[list[str]]:
    from docker.errors import ImageNotFound

    for image_id in engine.images(quiet=True):
        with contextlib.suppress(ImageNotFound):  # removed since it was listed
            yield engine.inspect_image(image_id)["RootFS"].get("Layers") or []


def load_image(engine: APIClient, image: ExportedImage, parts: list[Part], cache: LayerCache, sent: OnSent) -> None:
    """Load the parts (archives, from `LayersPresent.parts`) of the image in order. Raise HostUnfit if the engine's disk
    is full, LayersGone if the engine lacks a layer that a part leaves out, and HvdockerError if it refuses a part for
    another reason or the image did not arrive unchanged.

    `sent` receives the number of bytes sent so far. If the connection breaks, the layers of finished parts stay
    on the engine, and the next try continues after them."""
    done = 0
    for part in parts:
        done = _load_part(engine, part, cache, done, sent)
    finish_load(engine, image)


def finish_load(engine: APIClient, image: ExportedImage) -> None:
    """Check that the image has arrived on the engine unchanged, and remove its parts, and all parts older than a day.
    Parts are images with only the first layers, which were loaded before the whole image.

    Raise HvdockerError if the image is missing or is another one."""
    _check_arrived(engine, image)
    remove_parts(engine, image)


def _check_arrived(engine: APIClient, image: ExportedImage) -> None:
    from docker.errors import ImageNotFound

    name = image.reference or image.digest
    try:
        found = engine.inspect_image(name)
    except ImageNotFound as error:
        raise HvdockerError(f"{name} did not arrive", lines=[str(error)]) from error
    # The id is the digest of the configuration, except with containerd: there only the content is compared.
    is_named_so = found["Id"] == image.digest or _stores_in_containerd(engine)
    if not is_named_so or image_content(found) != image.content:
        lines = [f"sent {image.digest}", f"got {found['Id']}"]
        raise HvdockerError(f"{name} arrived as another image", lines=lines)


def _stores_in_containerd(engine: APIClient) -> bool:
    return ["driver-type", _CONTAINERD] in (engine.info().get("DriverStatus") or [])


def _load_part(engine: APIClient, part: Part, cache: LayerCache, done: int, sent: OnSent) -> int:
    """Load one part (an archive for `docker load`) into the engine; layers are read from the cache. Return the number
    of bytes sent so far: `done`, plus those of this part. `sent` receives this number while it grows.

    If the engine reports an error, by its HTTP status or in a message, raise HostUnfit (disk full), LayersGone (it
    lacks a layer that the part leaves out) or HvdockerError."""
    from docker.errors import APIError

    counter = _Counter(done, sent)
    try:
        for message in _post(engine, counter.counted(part, cache)):
            if "error" in message:
                raise load_error(part.reference, str(message["error"]))
    except APIError as error:
        raise load_error(part.reference, str(error.explanation or error)) from error
    return counter.done


def _post(engine: APIClient, data: Iterator[bytes]) -> Iterator[dict[str, object]]:
    """Send the archive to the engine's `/images/load`, and yield the engine's messages.

    There is no timeout. The SDK's own call has one, which is too short if a large layer takes minutes."""
    response = engine._post(engine._url("/images/load"), data=data, params={"quiet": True}, stream=True, timeout=None)
    engine._raise_for_status(response)
    yield from engine._stream_helper(response, decode=True)


def stream_part(part: Part, cache: LayerCache) -> Iterator[bytes]:
    """Yield the bytes of the part (an archive for `docker load`). Layers are read from the cache, which must have
    them."""
    for segment in part.segments():
        if isinstance(segment, bytes):
            yield segment
            continue
        with cache.path(segment.digest).open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


@dataclass
class _Counter:
    done: int
    sent: OnSent

    def counted(self, part: Part, cache: LayerCache) -> Iterator[bytes]:
        for chunk in stream_part(part, cache):
            yield chunk
            self.done += len(chunk)
            self.sent(self.done)


class LayersGone(HvdockerError):
    """The engine lacks layers that it had when it was inspected. Another push may have removed them."""


def load_error(reference: str, said: str) -> HvdockerError:
    """Return the error for a message `said` by an engine that could not load the image `reference`.

    The error is HostUnfit if the disk is full, LayersGone if the engine lacks a layer, else HvdockerError."""
    if "no space left" in said.lower():
        return HostUnfit(
            f"the disk is full: loading {reference}",
            lines=[said],
            fix=FREE_IMAGES_FIX,
        )
    kind = LayersGone if _LAYER_NOT_FOUND.search(said) else HvdockerError
    return kind(f"loading {reference} failed", lines=[said])
