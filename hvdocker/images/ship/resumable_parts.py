"""Splits an image into archives for `docker load` that have only the missing layers. Pure.

An archive may leave out layers that the engine has: the engine looks for a layer in its own store before it
opens the layer's file in the archive.

An interrupted `docker load` keeps nothing. So a large image is loaded in several parts. Each part is an image
of its own, with all layers up to some point. If a later part is interrupted, the layers of the finished parts
stay on the engine, and the next try continues after them (`find_layers_present` in load.py). An engine that
stores images in containerd is always sent the whole image."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass

# Small layers are sent together, because each load costs the engine a few round trips.
PART_BYTES = 32 << 20
PART_NAME = "hvdocker-part"
LABEL_PART = "hvdocker.part"


@dataclass(frozen=True)
class ImageLayer:
    """A layer of an image.

    `digest` is the digest of the uncompressed tar, as in the image's configuration. `size` is in bytes."""

    digest: str
    size: int = 0

    @property
    def hex(self) -> str:
        return self.digest.partition(":")[2]


@dataclass(frozen=True)
class ExportedImage:
    """An image without the bytes of its layers.

    `reference` is the image's tag, or empty if it has none. `config` is its configuration (JSON). `layers` has the
    lowest layer first. `content` is a hash that is equal on every engine (`observe.state.image_content`). `sent_at` is
    written into the image's parts as their creation time (ISO 8601), so that stale parts can be found."""

    reference: str
    config: bytes
    layers: tuple[ImageLayer, ...]
    content: str = ""
    sent_at: str = ""

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"


Segment = bytes | ImageLayer


@dataclass(frozen=True)
class Part:
    """One archive for `docker load`: an image with the first layers, or all layers, of the image to send.

    `reference` is the tag that the engine gives to this archive's image, empty for none. `config` is its configuration
    (JSON), and `chain` are all its layers. `sends` are the layers whose files are in the archive; the
    engine has the others."""

    reference: str
    config: bytes
    chain: tuple[ImageLayer, ...]
    sends: tuple[ImageLayer, ...]

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.sends)

    def segments(self) -> list[Segment]:
        """Return the pieces of the tar archive in order. A piece is either bytes of the archive, or a layer that stands
        for the content of its file.

        The caller puts the file of each layer in its place (`stream_part` in load.py)."""
        name = f"{hashlib.sha256(self.config).hexdigest()}.json"
        tags = [self.reference] if self.reference else None
        manifest = {"Config": name, "RepoTags": tags, "Layers": [f"{layer.hex}.tar" for layer in self.chain]}
        found: list[Segment] = []
        literal = _member(name, self.config) + _member("manifest.json", json.dumps([manifest]).encode())
        for layer in self.sends:
            found += [literal + _header(f"{layer.hex}.tar", layer.size), layer]
            literal = bytes(-layer.size % tarfile.BLOCKSIZE)
        return [*found, literal + bytes(2 * tarfile.BLOCKSIZE)]


def split_into_parts(image: ExportedImage, present: int, part_bytes: int = PART_BYTES) -> list[Part]:
    """Return the parts (archives for `docker load`) that bring the image to an engine that has its first `present`
    layers.

    The last part is the image itself. Each other part ends with the layer that brings its size to `part_bytes` or
    more."""
    parts: list[Part] = []
    sends: list[ImageLayer] = []
    for number, layer in enumerate(image.layers[present:], present + 1):
        sends.append(layer)
        if sum(each.size for each in sends) >= part_bytes and number < len(image.layers):
            parts.append(_partial_image(image, number, sends))
            sends = []
    return [*parts, Part(image.reference, image.config, image.layers, tuple(sends))]


def whole_image(image: ExportedImage) -> list[Part]:
    """Return one part (archive) with every layer, for engines that store images in containerd."""
    return [Part(image.reference, image.config, image.layers, image.layers)]


def _partial_image(image: ExportedImage, number: int, sends: Sequence[ImageLayer]) -> Part:
    """Return a part (archive) whose image consists of the first `number` layers of `image`. The archive has only the
    files of the layers `sends`; the engine has the others.

    The label LABEL_PART of the part contains the digest of the whole image."""
    known = json.loads(image.config)
    chain = image.layers[:number]
    config = {
        **{key: known[key] for key in ("architecture", "os", "variant", "os.version") if key in known},
        **({"created": image.sent_at} if image.sent_at else {}),
        "config": {"Labels": {LABEL_PART: image.digest}},
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in chain]},
    }
    tag = f"{PART_NAME}:{image.digest.partition(':')[2][:12]}-{number}"
    return Part(tag, json.dumps(config).encode(), chain, tuple(sends))


def _member(name: str, content: bytes) -> bytes:
    return _header(name, len(content)) + content + bytes(-len(content) % tarfile.BLOCKSIZE)


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.GNU_FORMAT)


def common_layers(wanted: Sequence[str], found: Sequence[str]) -> int:
    """Return how many layers two images have in common, counted from the lowest layer up to the first difference.
    `wanted` and `found` are the digests of their layers, lowest first."""
    count = 0
    for mine, other in zip(wanted, found, strict=False):
        if mine != other:
            break
        count += 1
    return count


def full_reference(reference: str) -> str:
    """Return the reference with its tag: `doc-hvd` becomes `doc-hvd:latest`. Return empty text for an image id
    (`sha256:…`), which has no tag."""
    if reference.startswith("sha256:"):
        return ""
    return reference if ":" in reference.rpartition("/")[2] else f"{reference}:latest"


def remote_reference(image: str, registry: str) -> str:
    """Return the image's name in the registry: `doc-hvd:cpu` becomes `REGISTRY/doc-hvd:cpu`. A name that starts with
    the registry stays as it is."""
    full = full_reference(image)
    return full if full.startswith(f"{registry}/") else f"{registry}/{full}"
