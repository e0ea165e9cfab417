"""The names under which parts of an image wait on an engine for the rest of it, and when they go."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from docker import APIClient

from hvdocker.images.ship.parts import LABEL_PART, PART_NAME, ImageContent

# No image takes a day to send: whoever sent such a part is gone.
_STALE_S = 86_400
_UNTAGGED = "<none>:<none>"


def forget_parts(engine: APIClient, image: ImageContent) -> None:
    """Only the names go: layers that the image shares with them stay. Parts of another image may belong to
    a push that is under way, or that will go on from them."""
    for found in engine.images(filters={"label": LABEL_PART}):
        if (found.get("Labels") or {}).get(LABEL_PART) == image.digest or _is_stale(found):
            _forget(engine, found)


def stale_parts(engine: APIClient) -> list[str]:
    """Names, or ids of those without one, of parts whose sender is gone."""
    found = [image for image in engine.images(filters={"label": LABEL_PART}) if _is_stale(image)]
    return [name for image in found for name in _names(image)]


def _is_stale(found: Mapping[str, Any]) -> bool:
    """One that does not know its age is left alone."""
    created = int(found.get("Created", 0))
    return 0 < created < time.time() - _STALE_S


def _forget(engine: APIClient, found: Mapping[str, Any]) -> None:
    """One that lost its name to the same part of a later try goes by its id."""
    from docker.errors import APIError

    for name in _names(found):
        with contextlib.suppress(APIError):
            engine.remove_image(name)


def _names(found: Mapping[str, Any]) -> list[str]:
    tags = [tag for tag in found.get("RepoTags") or [] if tag != _UNTAGGED]
    return [tag for tag in tags if tag.startswith(f"{PART_NAME}:")] if tags else [found["Id"]]
