"""Refuses an image whose programs use another version of the formats in hvdocker.protocol than this hvdocker. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.images.build.from_commands import from_tag
from hvdocker.protocol.format import FORMAT


def format_problem(image: str, labels: Mapping[str, str]) -> HvdockerError | None:
    """Return an error if the image is made for hvdocker, but its programs use another version of the formats in
    hvdocker.protocol than this hvdocker. Otherwise return None, also for an image that is not made for hvdocker.

    `labels` are those of the image, or of a container that was made from it."""
    if names.LABEL_IMAGE not in labels:
        return None
    said = labels.get(names.LABEL_FORMAT, "")
    spoken = int(said) if said.isascii() and said.isdecimal() else 1
    if spoken == FORMAT:
        return None
    if spoken > FORMAT:
        fix = "update hvdocker: pip install --upgrade hvdocker"
    elif image in names.OWN_IMAGES:
        fix = f"hvdocker image build --target {image.partition(':')[2]}, then hvdocker up"
    else:
        # The new image has another name, unless this one was made by `--from` too.
        fix = f"hvdocker image build --from {image}, then hvdocker up --image {from_tag(image)}"
    age = "a newer" if spoken > FORMAT else "an older"
    return HvdockerError(
        f"the image {image} was made for {age} hvdocker: it speaks format {spoken}, and this hvdocker format {FORMAT}",
        fix=fix,
    )
