"""The table of image targets: the images that `image build --target` can build. Pure.

The names and tags are in `names.SHORT_IMAGE_NAMES`, because they are stored on hosts and the inventory needs them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from hvdocker import names
from hvdocker.errors import UsageProblem
from hvdocker.launchers import DEFAULT

CPU = "cpu"
CUDA = "cuda"


@dataclass(frozen=True)
class ImageTarget:
    """One of hvdocker's own images. `name` is its short name, and `tag` its tag on engines.

    `stage` is the stage of `dockerfile` that builds it. `framework` is the Python package that it is made for, empty if
    none. `hardware` is CPU or CUDA. `launcher` is the launcher of jobs if neither the user nor the inventory names one.
    `requirements` are the files with the packages that pip downloads for it. `needs_base` says that doc-hvd:base is
    built first, because the Dockerfile copies the programs from it."""

    name: str
    tag: str
    dockerfile: str
    stage: str
    framework: str = ""
    hardware: str = CPU
    launcher: str = "each"
    requirements: tuple[str, ...] = ()
    needs_base: bool = False

    @property
    def aliases(self) -> tuple[str, ...]:
        """All short names of the target, with `name` first."""
        others = [short for short, tag in names.SHORT_IMAGE_NAMES.items() if tag == self.tag and short != self.name]
        return (self.name, *others)


TOOLS = "requirements-tools.txt"
TORCH_CPU_REQUIREMENTS = "requirements-torch-cpu.txt"

# The targets gpu and torch copy their programs from doc-hvd:base. They have Dockerfiles of their own because the
# classic builder runs every stage above a target, so it would build the cpu image too. doc-hvd:base is not their base
# image, because after a change of the programs all layers above them (4.6 GB) would be sent again.
TARGETS = (
    ImageTarget("base", "doc-hvd:base", "Dockerfile", "base"),
    ImageTarget(
        "tensorflow-cpu", "doc-hvd:cpu", "Dockerfile", "cpu", "tensorflow", CPU, DEFAULT,
        ("requirements-cpu.txt", TOOLS),
    ),
    ImageTarget(
        "tensorflow", "doc-hvd:gpu", "Dockerfile.gpu", "gpu", "tensorflow", CUDA, DEFAULT,
        ("requirements-gpu.txt", TOOLS), needs_base=True,
    ),
    ImageTarget(
        "torch", "doc-hvd:torch", "Dockerfile.torch", "torch", "torch", CUDA, "torch",
        ("requirements-torch.txt", TOOLS), needs_base=True,
    ),
    ImageTarget(
        "torch-cpu", "doc-hvd:torch-cpu", "Dockerfile.torch", "torch", "torch", CPU, "torch",
        (TORCH_CPU_REQUIREMENTS, TOOLS), needs_base=True,
    ),
)  # fmt: skip


def find_target(name: str) -> ImageTarget:
    """Return the target with this short name or tag. Raise UsageProblem if there is none."""
    tag = names.image_tag(name)
    found = next((target for target in TARGETS if target.tag == tag), None)
    if found is None:
        raise UsageProblem(f"there is no target {name!r}", fix=f"targets are {', '.join(names.SHORT_IMAGE_NAMES)}")
    return found


def build_command(tag: str) -> str:
    """Return the command that builds the image `tag`, which is one of `names.OWN_IMAGES`."""
    return f"hvdocker image build --target {tag.partition(':')[2]}"


def from_command(image: str) -> str:
    """Return the command with which the user makes an image for hvdocker from the image `image`."""
    return shlex.join(("hvdocker", "image", "build", "--from", image))
