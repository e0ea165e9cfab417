"""An image as archives that `docker load` takes: only the layers that are missing, in parts.

An engine looks a layer up by its chain before it opens the archive's file for it, so an archive may leave
out what the engine has. A load that is cut off keeps nothing; so a large image goes as several loads, each
an image of its own with the layers up to there. What such a part brought stays when the next is cut off."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass

# Small layers travel together; each load costs a few round trips of the engine's own.
PART_BYTES = 32 << 20
PART_NAME = "hvdocker-part"
LABEL_PART = "hvdocker.part"


@dataclass(frozen=True)
class Layer:
    """`digest` is that of the plain tar, as an image's configuration lists it."""

    digest: str
    size: int = 0

    @property
    def hex(self) -> str:
        return self.digest.partition(":")[2]


@dataclass(frozen=True)
class ImageContent:
    """All there is to an image but the layers' bytes. `reference` is empty for one without a tag;
    `content` is what makes it the same image on every engine; `sent_at` tells the age of its parts."""

    reference: str
    config: bytes
    layers: tuple[Layer, ...]
    content: str = ""
    sent_at: str = ""

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"


Segment = bytes | Layer


@dataclass(frozen=True)
class Part:
    """One load: an image of the first layers (or all), of which only `sends` are in the archive."""

    reference: str
    config: bytes
    chain: tuple[Layer, ...]
    sends: tuple[Layer, ...]

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.sends)

    def segments(self) -> list[Segment]:
        """The archive as literal bytes and layers, in order."""
        name = f"{hashlib.sha256(self.config).hexdigest()}.json"
        tags = [self.reference] if self.reference else None
        manifest = {"Config": name, "RepoTags": tags, "Layers": [f"{layer.hex}.tar" for layer in self.chain]}
        found: list[Segment] = []
        literal = _member(name, self.config) + _member("manifest.json", json.dumps([manifest]).encode())
        for layer in self.sends:
            found += [literal + _header(f"{layer.hex}.tar", layer.size), layer]
            literal = bytes(-layer.size % tarfile.BLOCKSIZE)
        return [*found, literal + bytes(2 * tarfile.BLOCKSIZE)]


def parts_of(image: ImageContent, present: int, part_bytes: int = PART_BYTES) -> list[Part]:
    """What brings the image to an engine that has the first `present` layers of its chain."""
    parts: list[Part] = []
    sends: list[Layer] = []
    for number, layer in enumerate(image.layers[present:], present + 1):
        sends.append(layer)
        if sum(each.size for each in sends) >= part_bytes and number < len(image.layers):
            parts.append(_partial(image, number, sends))
            sends = []
    return [*parts, Part(image.reference, image.config, image.layers, tuple(sends))]


def whole(image: ImageContent) -> list[Part]:
    """One load with every layer, for engines that want to see them all."""
    return [Part(image.reference, image.config, image.layers, image.layers)]


def _partial(image: ImageContent, number: int, sends: Sequence[Layer]) -> Part:
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
    """How many layers two chains share from the bottom up."""
    count = 0
    for mine, other in zip(wanted, found, strict=False):
        if mine != other:
            break
        count += 1
    return count


def full_reference(reference: str) -> str:
    """With its tag; empty for an id, which names no tag."""
    if reference.startswith("sha256:"):
        return ""
    return reference if ":" in reference.rpartition("/")[2] else f"{reference}:latest"


def remote_reference(image: str, registry: str) -> str:
    """Its name in the registry; one that is named after the registry already keeps its name."""
    full = full_reference(image)
    return full if full.startswith(f"{registry}/") else f"{registry}/{full}"
