"""Builds the image of lab hosts for one Debian suite: `machine/` on a base image. Rebuilt if either
changes."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors

from hvdocker.images.build.base_image import ensure_base_image
from tests.cluster.lab.wait import LabError

LABEL = "hvdocker.lab"
HASH_LABEL = "hvdocker.lab.hash"
MACHINE = Path(__file__).with_name("machine")


def ensure_host_image(engine: docker.APIClient, suite: str, say: Callable[[str], None]) -> str:
    """Return the id of the host image of that suite on this machine's engine; build it if needed."""
    tag = f"hvdocker-lab/host:{suite}"
    base = ensure_base_image(engine, suite, _without_already_there(say))
    wanted = _digest(engine.inspect_image(base)["Id"])
    old = _image(engine, tag)
    if old and old["Config"]["Labels"].get(HASH_LABEL) == wanted:
        return str(old["Id"])
    say(f"building {tag}")
    _build(engine, tag, base, wanted)
    if old:
        _drop(engine, old["Id"])
    return str(engine.inspect_image(tag)["Id"])


def _without_already_there(say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: None if text.endswith("already there") else say(text)


def _digest(base_id: str) -> str:
    digest = hashlib.sha256(base_id.encode())
    for path in sorted(MACHINE.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _image(engine: docker.APIClient, tag: str) -> dict[str, Any] | None:
    try:
        return dict(engine.inspect_image(tag))
    except docker.errors.ImageNotFound:
        return None


def _build(engine: docker.APIClient, tag: str, base: str, digest: str) -> None:
    events = engine.build(
        path=str(MACHINE),
        tag=tag,
        buildargs={"BASE": base},
        labels={LABEL: "1", HASH_LABEL: digest},
        network_mode="host",
        rm=True,
        forcerm=True,
        decode=True,
    )
    lines: list[str] = []
    for event in events:
        lines.append(event.get("stream", "").rstrip())
        if "error" in event:
            raise LabError("\n".join([f"building {tag} failed:", *lines[-15:], event["error"]]))


def _drop(engine: docker.APIClient, image_id: str) -> None:
    with suppress(docker.errors.APIError):  # a host may still use it; `prune` removes it later
        engine.remove_image(image_id)


def prune_images(engine: docker.APIClient) -> int:
    """Remove host images without a tag; return how many there were."""
    stale = engine.images(filters={"label": f"{LABEL}=1", "dangling": True}, quiet=True)
    for image_id in stale:
        _drop(engine, image_id)
    return len(stale)
