"""An image into one engine: what it has of it, the parts it lacks, and whether it arrived whole."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from docker import APIClient

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.part_tags import forget_parts
from hvdocker.images.ship.parts import ImageContent, Layer, Part, common_layers, parts_of, whole
from hvdocker.observe.state import image_content

Sent = Callable[[int], None]
_CHUNK = 1 << 20
_CONTAINERD = "io.containerd.snapshotter.v1"
# What the engine's own copy of a part takes beside the layers, roughly.
_SPARE = 1.05
# The engine looked for a layer's file in the archive: it does not have that layer.
_NO_LAYER = re.compile(r"docker-import-\w+/[0-9a-f]{64}\.tar: no such file")


@dataclass(frozen=True)
class LayersPresent:
    """The image's lowest layers that an engine has. One that keeps images in containerd wants to be shown
    every layer, whatever it has."""

    count: int
    is_containerd: bool = False

    def lacks(self, image: ImageContent) -> tuple[Layer, ...]:
        return image.layers if self.is_containerd else image.layers[self.count :]

    def parts(self, image: ImageContent) -> list[Part]:
        return whole(image) if self.is_containerd else parts_of(image, self.count)

    def needs_bytes(self, image: ImageContent) -> int:
        """What loading takes of the engine's disk: the layers, and one part at a time beside them."""
        sizes = [part.size for part in self.parts(image)]
        return int(sum(sizes) * _SPARE) + max(sizes)


def present(engine: APIClient, chain: tuple[str, ...]) -> LayersPresent:
    if _keeps_in_containerd(engine):
        return LayersPresent(0, is_containerd=True)
    return LayersPresent(max((common_layers(chain, layers) for layers in _chains(engine)), default=0))


def _chains(engine: APIClient) -> Iterator[list[str]]:
    from docker.errors import ImageNotFound

    for image_id in engine.images(quiet=True):
        with contextlib.suppress(ImageNotFound):
            yield engine.inspect_image(image_id)["RootFS"].get("Layers") or []


def load(engine: APIClient, image: ImageContent, parts: list[Part], cache: LayerCache, sent: Sent) -> None:
    """Part by part. What finished parts brought stays for the next try where the connection breaks."""
    done = 0
    for part in parts:
        done = _load_part(engine, part, cache, done, sent)
    settle(engine, image)


def settle(engine: APIClient, image: ImageContent) -> None:
    """Demands that the very same image is there, and takes away the parts' own names."""
    _check(engine, image)
    forget_parts(engine, image)


def _check(engine: APIClient, image: ImageContent) -> None:
    from docker.errors import ImageNotFound

    name = image.reference or image.digest
    try:
        found = engine.inspect_image(name)
    except ImageNotFound as error:
        raise HvdockerError(f"{name} did not arrive", lines=[str(error)]) from error
    # Only with containerd an image's id is not that of its configuration.
    is_named_so = found["Id"] == image.digest or _keeps_in_containerd(engine)
    if not is_named_so or image_content(found) != image.content:
        lines = [f"sent {image.digest}", f"got {found['Id']}"]
        raise HvdockerError(f"{name} arrived as another image", lines=lines)


def _keeps_in_containerd(engine: APIClient) -> bool:
    return ["driver-type", _CONTAINERD] in (engine.info().get("DriverStatus") or [])


def _load_part(engine: APIClient, part: Part, cache: LayerCache, done: int, sent: Sent) -> int:
    """Engines complain at once or in the middle of what they say; it is the same complaint."""
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
    """The SDK's own call gives up when an engine takes minutes over a large layer."""
    response = engine._post(
        engine._url("/images/load"), data=data, params={"quiet": True}, stream=True, timeout=None
    )
    engine._raise_for_status(response)
    yield from engine._stream_helper(response, decode=True)


def stream(part: Part, cache: LayerCache) -> Iterator[bytes]:
    """The archive's bytes; layers come from the cache."""
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
    sent: Sent

    def counted(self, part: Part, cache: LayerCache) -> Iterator[bytes]:
        for chunk in stream(part, cache):
            yield chunk
            self.done += len(chunk)
            self.sent(self.done)


class LayersGone(HvdockerError):
    """Layers that the engine had are not there any more: another push may have cleared its parts."""


def load_error(reference: str, said: str) -> HvdockerError:
    if "no space left" in said.lower():
        return HostUnfit(
            f"the disk is full: loading {reference}",
            lines=[said],
            fix="free some space: docker image prune && docker builder prune",
        )
    kind = LayersGone if _NO_LAYER.search(said) else HvdockerError
    return kind(f"loading {reference} failed", lines=[said])
