"""The labels of images that hvdocker makes. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker import names
from hvdocker.images.frameworks import frameworks_text
from hvdocker.protocol.format import FORMAT


def image_labels(launcher: str, frameworks: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels of an image. `launcher` is the name of the launcher that a job gets if neither the user nor the
    inventory names one. `frameworks` has the versions of the image's frameworks by name. If it is None, the frameworks
    are unknown, and no label lists them."""
    known = {} if frameworks is None else {names.LABEL_FRAMEWORKS: frameworks_text(frameworks)}
    return {
        names.LABEL_IMAGE: "1",
        names.LABEL_FORMAT: str(FORMAT),
        names.LABEL_LAUNCHER: launcher,
        **known,
    }
