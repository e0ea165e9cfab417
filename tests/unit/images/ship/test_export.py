"""An image out of engines' archives, whatever their layout."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

from hvdocker.errors import HvdockerError
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.export import export_image

BODIES = [b"lower layer " * 500, b"upper layer " * 700_000]
CHAIN = [f"sha256:{hashlib.sha256(body).hexdigest()}" for body in BODIES]
CONFIG = json.dumps({"architecture": "amd64", "rootfs": {"diff_ids": CHAIN}}).encode()
CONFIG_HEX = hashlib.sha256(CONFIG).hexdigest()


def tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def manifest(config: str, layers: list[str]) -> bytes:
    return json.dumps([{"Config": config, "RepoTags": ["x:y"], "Layers": layers}]).encode()


def classic() -> bytes:
    """Up to engine 24: a folder per layer, the manifest somewhere in between."""
    return tar(
        {
            "1/layer.tar": BODIES[1],
            f"{CONFIG_HEX}.json": CONFIG,
            "manifest.json": manifest(f"{CONFIG_HEX}.json", ["0/layer.tar", "1/layer.tar"]),
            "0/json": b"{}",
            "0/layer.tar": BODIES[0],
        }
    )


def blobs(pack: Callable[[bytes], bytes]) -> bytes:
    """Later engines: OCI blobs, packed where images lie in containerd."""
    packed = {f"blobs/sha256/{hashlib.sha256(pack(body)).hexdigest()}": pack(body) for body in BODIES}
    return tar(
        {
            **packed,
            f"blobs/sha256/{CONFIG_HEX}": CONFIG,
            "index.json": b"{}",
            "manifest.json": manifest(f"blobs/sha256/{CONFIG_HEX}", list(packed)),
        }
    )


class Engine:
    """The two calls that matter; counts how often the image is read."""

    def __init__(self, archive: bytes, image_id: str = f"sha256:{CONFIG_HEX}") -> None:
        self.archive, self.image_id, self.saves = archive, image_id, 0

    def inspect_image(self, reference: str) -> dict[str, Any]:
        return {"Id": self.image_id, "RootFS": {"Layers": CHAIN}}

    def _url(self, path: str, *words: str) -> str:
        return path

    def _get(self, url: str, **how: object) -> object:
        self.saves += 1
        return None

    def _stream_raw_result(self, response: object, size: int, decode: bool) -> Any:
        for start in range(0, len(self.archive), 100_000):
            yield self.archive[start : start + 100_000]


ARCHIVES = {
    "classic": classic(),
    "blobs": blobs(lambda body: body),
    "gzip": blobs(lambda body: gzip.compress(body, mtime=0)),
    "zstd": blobs(zstandard.ZstdCompressor().compress),
}


def take(engine: Engine, cache: LayerCache, needed: list[str]) -> Any:
    client: Any = engine  # Any: stands in for an APIClient
    return export_image(client, "x:y", needed, cache, lambda done: None)


@pytest.mark.parametrize("layout", ARCHIVES)
def test_every_layout_gives_the_same_image(tmp_path: Path, layout: str) -> None:
    cache = LayerCache(tmp_path)
    image = take(Engine(ARCHIVES[layout]), cache, CHAIN)
    assert image.digest == f"sha256:{CONFIG_HEX}"
    assert [(layer.digest, layer.size) for layer in image.layers] == [
        (digest, len(body)) for digest, body in zip(CHAIN, BODIES, strict=True)
    ]
    assert [cache.read(digest) for digest in CHAIN] == BODIES


def test_only_needed_layers_are_kept(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    take(Engine(classic()), cache, CHAIN[1:])
    assert cache.read(CHAIN[0]) is None and cache.read(CHAIN[1]) == BODIES[1]


@pytest.mark.parametrize("image_id", [f"sha256:{CONFIG_HEX}", "sha256:" + "7" * 64])
def test_the_engine_is_read_once(tmp_path: Path, image_id: str) -> None:
    """Also where an image's id is not its configuration's digest."""
    engine, cache = Engine(classic(), image_id), LayerCache(tmp_path)
    first = take(engine, cache, CHAIN)
    assert take(engine, cache, CHAIN[:1]) == first
    assert engine.saves == 1


def test_a_layer_of_a_known_size_is_passed_over(tmp_path: Path) -> None:
    """The larger layer is known; in the archive it is damaged, which nobody looks at."""
    cache = LayerCache(tmp_path)
    take(Engine(classic()), cache, CHAIN[1:])
    engine = Engine(classic().replace(b"upper layer", b"other layer"))
    take(engine, cache, CHAIN)
    assert engine.saves == 1 and cache.read(CHAIN[0]) == BODIES[0]


def test_layers_of_equal_size_are_told_apart_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing one has the size of a known one: all is read once more."""
    twin = BODIES[1].replace(b"u", b"x")
    chain = [f"sha256:{hashlib.sha256(twin).hexdigest()}", CHAIN[1]]
    config = json.dumps({"rootfs": {"diff_ids": chain}}).encode()
    files = {"0/layer.tar": twin, "1/layer.tar": BODIES[1], "c.json": config}
    engine = Engine(tar({**files, "manifest.json": manifest("c.json", [])}), "sha256:other")
    monkeypatch.setattr(Engine, "inspect_image", lambda *_: {"Id": "sha256:o", "RootFS": {"Layers": chain}})
    cache = LayerCache(tmp_path)
    take(engine, cache, chain[1:])
    take(engine, cache, chain)
    assert engine.saves == 3 and cache.read(chain[0]) == twin


def test_an_archive_of_another_image_is_refused(tmp_path: Path) -> None:
    other = json.dumps({"rootfs": {"diff_ids": ["sha256:x"]}}).encode()
    archive = tar({"c.json": other, "manifest.json": manifest("c.json", [])})
    with pytest.raises(HvdockerError, match="another image"):
        take(Engine(archive), LayerCache(tmp_path), [])


def test_a_layer_that_did_not_come_is_named(tmp_path: Path) -> None:
    archive = tar({"c.json": CONFIG, "manifest.json": manifest("c.json", [])})
    with pytest.raises(HvdockerError, match="lacks layers") as caught:
        take(Engine(archive), LayerCache(tmp_path), CHAIN[:1])
    assert list(caught.value.lines) == [CHAIN[0]]
