"""Removes the parts of an image from an engine, and finds stale parts.

A part is an image with only the first layers, loaded on the way to the whole image (`resumable_parts.py`)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from docker import APIClient

from hvdocker.images.ship.resumable_parts import LABEL_PART, PART_NAME, ExportedImage

# Sending an image takes less than a day, so the sender of an older part has ended.
_STALE_S = 86_400
_UNTAGGED = "<none>:<none>"


def remove_parts(engine: APIClient, image: ExportedImage) -> None:
    """Remove the parts (images with only the first layers) of this image, and all parts older than a day.

    Layers that the image shares with its parts stay. Newer parts of other images stay too: a push that is
    running, or the next try of an interrupted push, may need them."""
    for found in engine.images(filters={"label": LABEL_PART}):
        if (found.get("Labels") or {}).get(LABEL_PART) == image.digest or _is_stale(found):
            _remove_part(engine, found)


def stale_parts(engine: APIClient) -> list[str]:
    """Return the tags of the parts (images with only the first layers) that are older than a day.

    For a part without a tag, its id is returned."""
    found = [image for image in engine.images(filters={"label": LABEL_PART}) if _is_stale(image)]
    return [name for image in found for name in _part_references(image)]


def _is_stale(found: Mapping[str, Any]) -> bool:
    """Return whether the part (an image with only the first layers) is older than a day. A part without a creation
    time is not stale. `found` is the engine's JSON of the image, so its values are `Any`."""
    created = int(found.get("Created", 0))
    return 0 < created < time.time() - _STALE_S


def _remove_part(engine: APIClient, found: Mapping[str, Any]) -> None:
    """Remove the part (an image with only the first layers) by its tags, or by its id if it has no tag. Errors of the
    engine are ignored. `found` is the engine's JSON of the image, so its values are `Any`.

    A part loses its tag when a later try loads another part with the same tag."""
    from docker.errors import APIError

    for name in _part_references(found):
        with contextlib.suppress(APIError):
            engine.remove_image(name)


def _part_references(found: Mapping[str, Any]) -> list[str]:
    tags = [tag for tag in found.get("RepoTags") or [] if tag != _UNTAGGED]
    return [tag for tag in tags if tag.startswith(f"{PART_NAME}:")] if tags else [found["Id"]]
