"""The steps that build, send, push, pull and remove images. Pure; actions.py carries them out."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.images.requirements import Requirements
from hvdocker.images.ship.resumable_parts import remote_reference
from hvdocker.plan.plan import CONTROLLER, Step
from hvdocker.units import show_bytes


@dataclass(frozen=True)
class BuildImage(Step):
    """Build one of hvdocker's own images (`image` is one of `names.OWN_IMAGES`) on the step's host."""

    image: str

    def describe(self) -> str:
        return f"build {self.image} (it is nowhere yet; this takes minutes)"


@dataclass(frozen=True)
class BuildLayer(Step):
    """Install requirements as one layer on top of a base image.

    `image` is the name of the new image. `base` is the id of the base image on the step's host, and `content` is its
    content hash, which is equal on every engine. `key` is a hash of the requirements and of `content`. It becomes a
    label of the new image and of the workers made from it. The label shows a later job that a worker already has its
    requirements."""

    image: str
    base: str
    content: str
    key: str
    requirements: Requirements

    def describe(self) -> str:
        return f"install {self.requirements.source} as one layer: {self.image}"


@dataclass(frozen=True)
class ShipImage(Step):
    """Send the image from the engine of `source` (CONTROLLER or a host name) to the step's host.

    `size_bytes` is 0 if the size is unknown."""

    image: str
    source: str
    size_bytes: int = 0

    def describe(self) -> str:
        size = f", {show_bytes(self.size_bytes)}" if self.size_bytes else ""
        return f"load {self.image} from {self.source}{size}"


@dataclass(frozen=True)
class PushImage(Step):
    """Push the image from the controller to the registry that the hosts pull from."""

    image: str
    registry: str

    def describe(self) -> str:
        return f"push {self.image} to {self.registry}"


@dataclass(frozen=True)
class PullImage(Step):
    """Pull the image from the registry to the step's host.

    With `needs_label`, the image must have the label of images that are made for hvdocker. `content` is the
    content hash of the image on `source`, and the pulled image must have the same. `content` is None if no
    engine has the image; then any build is accepted."""

    image: str
    registry: str
    needs_label: bool = True
    content: str | None = None
    source: str = CONTROLLER

    def describe(self) -> str:
        return f"pull {remote_reference(self.image, self.registry)}"


@dataclass(frozen=True)
class RemoveImage(Step):
    """Remove an image from the step's host.

    `reference` is the image's name, or its id if it has no name. `why` is the reason, shown in the plan. `size_bytes`
    is 0 if the size is unknown."""

    reference: str
    why: str
    size_bytes: int = 0

    def describe(self) -> str:
        size = f"{show_bytes(self.size_bytes)}, " if self.size_bytes else ""
        return f"remove the image {self.reference} ({size}{self.why})"
