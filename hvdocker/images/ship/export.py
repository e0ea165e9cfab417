"""Reads an image's configuration and layers, from the cache or from the engine that has the image.

An engine exports an image only as a whole, so one missing layer costs an export of all layers. The layout of
the exported archive differs: one folder per layer up to Docker 24, OCI blobs later, and compressed blobs if
the engine stores images in containerd. So files in an archive are identified by content, not by name: a layer
is a file that has the digest of a layer after decompression."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from docker import APIClient

from hvdocker.errors import HvdockerError
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.resumable_parts import ExportedImage, ImageLayer, full_reference
from hvdocker.observe.state import image_content

Progress = Callable[[int], None]
_CHUNK = 1 << 20
_MAX_JSON_BYTES = 8 << 20
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def layer_digests(engine: APIClient, reference: str) -> tuple[str, ...]:
    """Return the digests of the layers of the image `reference` on this engine, the lowest layer first."""
    return tuple(engine.inspect_image(reference)["RootFS"].get("Layers") or ())


def export_image(
    engine: APIClient, reference: str, needed: Collection[str], cache: LayerCache, progress: Progress
) -> ExportedImage:
    """Return the image `reference` of this engine, without the bytes of its layers. Put the layers with the digests
    `needed` into the cache if it lacks them.

    The engine exports the image only if the cache lacks one of these layers or the image's configuration. In the
    result, layers that are not in the cache have size 0. `progress` receives the bytes read so far."""
    seen = engine.inspect_image(reference)
    chain = tuple(seen["RootFS"].get("Layers") or ())
    config = _cached_config(cache, seen["Id"])
    missing = {digest for digest in needed if cache.size(digest) is None}
    if config is None or missing:
        config = _read_from_engine(engine, reference, _LayersWanted(chain, missing), cache, progress)
        with cache.draft() as draft:
            draft.write(config)
            cache.keep(draft, f"sha256:{hashlib.sha256(config).hexdigest()}")
        _cache_config_digest(cache, seen["Id"], config)
    layers = tuple(ImageLayer(digest, cache.size(digest) or 0) for digest in chain)
    return ExportedImage(full_reference(reference), config, layers, image_content(seen))


def _cached_config(cache: LayerCache, image_id: str) -> bytes | None:
    """Return the configuration of the image with the id `image_id` from the cache, or None if the cache lacks it.

    On a classic engine, the image id is the digest of the configuration. With containerd it is not: then the
    cache has a file with the name of the id that contains the digest (`_cache_config_digest`)."""
    content = cache.read(image_id)
    if content is not None and f"sha256:{hashlib.sha256(content).hexdigest()}" == image_id:
        return content
    return cache.read(content.decode()) if content else None


def _cache_config_digest(cache: LayerCache, image_id: str, config: bytes) -> None:
    """Store the digest of `config`, the image's configuration, in the cache under the image id, if the two differ.

    They differ with containerd. `_cached_config` finds the configuration by the id later."""
    digest = f"sha256:{hashlib.sha256(config).hexdigest()}"
    if digest != image_id:
        with cache.draft() as draft:
            draft.write(digest.encode())
            cache.keep(draft, image_id)


def _stream_archive(engine: APIClient, reference: str) -> Iterator[bytes]:
    """Yield the bytes of the image `reference` as a tar archive, exported by the engine. There is no timeout.

    The SDK's own call has a timeout, which is too short if the engine works for minutes on a large image before it
    sends the first byte. A host that becomes unreachable is detected by the SSH connection."""
    response = engine._get(engine._url("/images/{0}/get", reference), stream=True, timeout=None)
    yield from engine._stream_raw_result(response, _CHUNK, False)


@dataclass(frozen=True)
class _LayersWanted:
    """Which layers to read from an exported archive.

    `chain` are the digests of all layers of the image, and `missing` those that the cache lacks. A file with a
    size in `known_sizes` is assumed to be a layer that is already in the cache, and is skipped."""

    chain: tuple[str, ...]
    missing: Collection[str]
    known_sizes: Collection[int] = ()


def _read_from_engine(
    engine: APIClient, reference: str, wanted: _LayersWanted, cache: LayerCache, progress: Progress
) -> bytes:
    """Export the image `reference`, put the layers in `wanted.missing` into the cache, and return the image's
    configuration. `progress` receives the bytes read so far.

    To save hashing, files that have the size of a large cached layer are skipped. If a missing layer is not found this
    way, the image is exported again and every file is read."""
    known = [cache.size(digest) for digest in wanted.chain if digest not in wanted.missing]
    sizes = frozenset(size for size in known if size and size > _MAX_JSON_BYTES)
    if sizes:
        with contextlib.suppress(_ArchiveIncomplete):
            guess = _LayersWanted(wanted.chain, wanted.missing, sizes)
            return _read_archive(_stream_archive(engine, reference), guess, cache, progress)
    return _read_archive(_stream_archive(engine, reference), wanted, cache, progress)


class _ArchiveIncomplete(HvdockerError):
    """The exported archive lacks layers of the image."""


def _read_archive(chunks: Iterator[bytes], wanted: _LayersWanted, cache: LayerCache, progress: Progress) -> bytes:
    stream = _ChunkReader(chunks, progress)
    texts: dict[str, bytes] = {}
    left = set(wanted.missing)
    with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK) as archive:  # type: ignore[call-overload]
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is None or member.size in wanted.known_sizes:
                continue
            if member.size <= _MAX_JSON_BYTES:
                texts[member.name] = content.read()
                content = io.BytesIO(texts[member.name])
            if left:
                left.discard(_cache_if_wanted(content, left, cache))
    if left:
        raise _ArchiveIncomplete("the engine's archive of the image lacks layers", lines=sorted(left))
    return _config_in_archive(texts, wanted.chain)


def _cache_if_wanted(content: IO[bytes], wanted: Collection[str], cache: LayerCache) -> str:
    """Return the digest that the file `content`, which may be compressed, has after decompression.

    If the digest is in `wanted`, the decompressed file is put into the cache."""
    digest = hashlib.sha256()
    with cache.draft() as draft:
        for chunk in _decompressed(content):
            digest.update(chunk)
            draft.write(chunk)
        found = f"sha256:{digest.hexdigest()}"
        if found in wanted:
            cache.keep(draft, found)
    return found


def _decompressed(content: IO[bytes]) -> Iterator[bytes]:
    chunk = content.read(_CHUNK)
    decoder = _decoder(chunk)
    while chunk:
        yield decoder.decompress(chunk) if decoder else chunk
        chunk = content.read(_CHUNK)


def _decoder(head: bytes) -> Any:
    """Return a decompressor (gzip or zstd) for data that begins with `head`, or None if it is not compressed.

    The type is `Any` because the two decompressors come from different libraries."""
    if head.startswith(_GZIP):
        return zlib.decompressobj(wbits=31)
    if head.startswith(_ZSTD):
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj()
    return None


def _config_in_archive(texts: dict[str, bytes], chain: tuple[str, ...]) -> bytes:
    """Return the image configuration that the archive's manifest names.

    `texts` are the small files of the archive by name. Raise HvdockerError if they have no readable manifest, or
    if the configuration lists other layers than `chain` (digests): then the archive is of another image."""
    try:
        manifest = json.loads(texts["manifest.json"])
        config = texts[manifest[0]["Config"]]
        if tuple(json.loads(config)["rootfs"]["diff_ids"]) == chain:
            return config
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise HvdockerError("the engine's archive of the image has no readable manifest") from error
    raise HvdockerError("the engine's archive is of another image", fix="run the command again")


@dataclass
class _ChunkReader:
    """A file object that reads from an iterator of chunks, and passes the bytes read so far to `progress`.

    `rest` is the unread end of the current chunk. `done` is the number of bytes read so far."""

    chunks: Iterator[bytes]
    progress: Progress
    rest: bytes = b""
    done: int = field(default=0)

    def read(self, size: int) -> bytes:
        if not self.rest:
            self.rest = next(self.chunks, b"")
            self.done += len(self.rest)
            self.progress(self.done)
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken
