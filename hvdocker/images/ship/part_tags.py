"""The tags of an image's parts on an engine: which are stale, and their removal."""

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
    """Remove the parts of this image, and parts of other images that are older than a day.

    Layers that the image shares with its parts stay. More recent parts of another image may belong to a push
    that is running, or that will continue from them."""
    for found in engine.images(filters={"label": LABEL_PART}):
        if (found.get("Labels") or {}).get(LABEL_PART) == image.digest or _is_stale(found):
            _remove_part(engine, found)


def stale_parts(engine: APIClient) -> list[str]:
    """Return the tags of parts that are older than a day; the id of a part that has no tag."""
    found = [image for image in engine.images(filters={"label": LABEL_PART}) if _is_stale(image)]
    return [name for image in found for name in _part_references(image)]


def _is_stale(found: Mapping[str, Any]) -> bool:
    """Return whether the part is older than a day. A part without a creation time is not stale."""
    created = int(found.get("Created", 0))
    return 0 < created < time.time() - _STALE_S


def _remove_part(engine: APIClient, found: Mapping[str, Any]) -> None:
    """Remove the part by its tags; by its id where a later try took its tag over."""
    from docker.errors import APIError

    for name in _part_references(found):
        with contextlib.suppress(APIError):
            engine.remove_image(name)


def _part_references(found: Mapping[str, Any]) -> list[str]:
    tags = [tag for tag in found.get("RepoTags") or [] if tag != _UNTAGGED]
    return [tag for tag in tags if tag.startswith(f"{PART_NAME}:")] if tags else [found["Id"]]
