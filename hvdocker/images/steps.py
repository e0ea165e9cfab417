"""The steps that bring images onto engines and take them away."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.images.requirements import Requirements
from hvdocker.images.ship.parts import remote_reference
from hvdocker.plan.plan import CONTROLLER, Step
from hvdocker.units import show_bytes


@dataclass(frozen=True)
class BuildImage(Step):
    image: str

    def describe(self) -> str:
        return f"build {self.image} (it is nowhere yet; this takes minutes)"


@dataclass(frozen=True)
class BuildLayer(Step):
    """Requirements on an image: `base` is its id on that host, `content` what it is on every host."""

    image: str
    base: str
    content: str
    key: str
    requirements: Requirements

    def describe(self) -> str:
        return f"install {self.requirements.source} as one layer: {self.image}"


@dataclass(frozen=True)
class ShipImage(Step):
    image: str
    source: str
    size_bytes: int = 0

    def describe(self) -> str:
        size = f", {show_bytes(self.size_bytes)}" if self.size_bytes else ""
        return f"load {self.image} from {self.source}{size}"


@dataclass(frozen=True)
class PushImage(Step):
    """From this machine to the registry that the hosts pull from."""

    image: str
    registry: str

    def describe(self) -> str:
        return f"push {self.image} to {self.registry}"


@dataclass(frozen=True)
class PullImage(Step):
    """`needs_label`: the image has to be one that workers can be made of. `content`: what it has to be,
    which is what `source` has; None where nobody has it."""

    image: str
    registry: str
    needs_label: bool = True
    content: str | None = None
    source: str = CONTROLLER

    def describe(self) -> str:
        return f"pull {remote_reference(self.image, self.registry)}"


@dataclass(frozen=True)
class RemoveImage(Step):
    """By name, or by id where it has none; `why` it may go."""

    reference: str
    why: str
    size_bytes: int = 0

    def describe(self) -> str:
        size = f"{show_bytes(self.size_bytes)}, " if self.size_bytes else ""
        return f"remove the image {self.reference} ({size}{self.why})"
