"""Chooses between PyTorch's CPU build and its ordinary wheel, for the target torch-cpu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hvdocker import assets
from hvdocker.images.build.wheel_cache import Say, WheelCache
from hvdocker.images.build.wheel_names import PYTHON_VERSION, Pin, parse_pins, wheels_of
from hvdocker.images.targets import TORCH_CPU_REQUIREMENTS, ImageTarget, find_target


@dataclass(frozen=True)
class TorchChoice:
    """What a build installs. `requirements` are the names of the lock files. `wheel` is the wheel with PyTorch's CPU
    build in the controller's cache, None if the cache does not have it or it is not needed."""

    requirements: tuple[str, ...]
    wheel: Path | None = None


def lock_pins(files: Sequence[str]) -> tuple[Pin, ...]:
    """Return the pinned packages of the lock files. `files` are names of files in images/doc-hvd."""
    texts = ((assets.image_dir() / name).read_text(encoding="utf-8") for name in files)
    return tuple(pin for text in texts for pin in parse_pins(text))


def choose_torch(
    target: ImageTarget, wheelhouse: Sequence[Path], cache: WheelCache, torch_index: str | None, say: Say
) -> TorchChoice:
    """Return what the build of the target installs. Only the target torch-cpu has a choice, between PyTorch's CPU build
    and its ordinary wheel.

    The CPU build is looked for in `wheelhouse` (the wheels of --wheelhouse), then in `cache`, then in the package index
    `torch_index`. If `torch_index` is None, the controller's pip looks for it where it is configured to search. If no
    CPU build is found, the image gets the ordinary wheel. For torch-cpu, `say` receives a line that says which build
    was taken. Raise HvdockerError if the cache cannot be written."""
    if TORCH_CPU_REQUIREMENTS not in target.requirements:
        return TorchChoice(target.requirements)
    pin = next(pin for pin in lock_pins(target.requirements) if pin.name == "torch")
    builds = [wheel.name for wheel in wheelhouse if pin.is_in(wheel.name)]
    if wheels_of([pin], builds, cache.architecture):
        say(f"{target.name} takes PyTorch's CPU build {pin.version} of the wheelhouse")
        return TorchChoice(target.requirements)
    for name in builds:
        say(f"note: {name} of the wheelhouse is not for Python {PYTHON_VERSION} on Linux {cache.architecture}")
    for name in cache.fetch([pin], say, torch_index):
        say(f"{target.name} takes PyTorch's CPU build {pin.version}, which {_origin(torch_index)}")
        return TorchChoice(target.requirements, cache.root / name)
    ordinary = find_target("torch").requirements
    say(
        f"{target.name} takes PyTorch's ordinary wheel, with CUDA (several GB): no CPU build {pin.version} is in "
        f"{'the index of --torch-index' if torch_index else 'a folder or index that pip here is configured for'}"
    )
    return TorchChoice(ordinary)


def _origin(torch_index: str | None) -> str:
    return "the index of --torch-index has" if torch_index else "pip on this machine finds"
