"""Archives that bring an engine only what it lacks."""

import hashlib
import io
import json
import tarfile

import pytest

from hvdocker.images.ship.resumable_parts import (
    ExportedImage,
    ImageLayer,
    Part,
    common_layers,
    full_reference,
    split_into_parts,
    whole_image,
)

BODIES = {f"sha256:{letter * 64}": letter.encode() * (10 + number) for number, letter in enumerate("abcde")}
LAYERS = tuple(ImageLayer(digest, len(body)) for digest, body in BODIES.items())
CONFIG = json.dumps(
    {"architecture": "amd64", "os": "linux", "history": [{}], "rootfs": {"diff_ids": list(BODIES)}}
).encode()
IMAGE = ExportedImage("x:y", CONFIG, LAYERS)


def unpack(part: Part) -> dict[str, bytes]:
    raw = b"".join(
        BODIES[segment.digest] if isinstance(segment, ImageLayer) else segment for segment in part.segments()
    )
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def test_one_archive_with_the_layers_that_are_missing() -> None:
    (part,) = split_into_parts(IMAGE, present=3)
    files = unpack(part)
    name = f"{hashlib.sha256(CONFIG).hexdigest()}.json"
    assert set(files) == {name, "manifest.json", f"{'d' * 64}.tar", f"{'e' * 64}.tar"}
    assert files[name] == CONFIG
    assert files[f"{'d' * 64}.tar"] == BODIES[LAYERS[3].digest]
    (manifest,) = json.loads(files["manifest.json"])
    assert manifest == {
        "Config": name, "RepoTags": ["x:y"], "Layers": [f"{layer.hex}.tar" for layer in LAYERS],
    }  # fmt: skip


def test_large_images_go_in_parts_that_are_images_of_their_own() -> None:
    parts = split_into_parts(IMAGE, present=0, part_bytes=20)
    assert [[layer.hex[0] for layer in part.sends] for part in parts] == [["a", "b"], ["c", "d"], ["e"]]
    assert [part.reference for part in parts] == [
        f"hvdocker-part:{IMAGE.digest[7:19]}-2", f"hvdocker-part:{IMAGE.digest[7:19]}-4", "x:y",
    ]  # fmt: skip
    first = json.loads(parts[0].config)
    assert first["rootfs"]["diff_ids"] == [layer.digest for layer in LAYERS[:2]]
    # A history of more layers than it has would be refused.
    assert "history" not in first
    assert parts[-1].config == CONFIG
    assert [part.size for part in parts] == [21, 25, 14]


def test_the_last_part_is_the_image_itself_even_when_no_layer_is_missing() -> None:
    (part,) = split_into_parts(IMAGE, present=5)
    assert part.sends == () and part.reference == "x:y"
    assert set(unpack(part)) == {f"{IMAGE.digest[7:]}.json", "manifest.json"}


def test_a_whole_archive_has_every_layer() -> None:
    (part,) = whole_image(IMAGE)
    assert part.sends == LAYERS


def test_an_image_without_a_name_stays_without() -> None:
    (part,) = whole_image(ExportedImage("", CONFIG, LAYERS))
    assert json.loads(unpack(part)["manifest.json"])[0]["RepoTags"] is None


@pytest.mark.parametrize(
    ("wanted", "found", "common"),
    [("abc", "abc", 3), ("abc", "abx", 2), ("abc", "xbc", 0), ("abc", "ab", 2), ("abc", "", 0)],
)
def test_layers_in_common_count_from_the_bottom(wanted: str, found: str, common: int) -> None:
    assert common_layers(wanted, found) == common


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("x", "x:latest"),
        ("x:y", "x:y"),
        ("host:5000/x", "host:5000/x:latest"),
        ("host:5000/x:y", "host:5000/x:y"),
        (f"sha256:{'a' * 64}", ""),
    ],
)
def test_a_reference_has_a_tag(given: str, full: str) -> None:
    assert full_reference(given) == full
