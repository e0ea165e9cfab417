"""Decide whether an image has the frameworks that a launcher and a script need. Pure.

The label of an image, which was written when it was built, says which frameworks the image has. The requirements of
the job add others. An image without that label is never refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from hvdocker import names
from hvdocker.errors import HvdockerError
from hvdocker.launchers import LAUNCHERS
from hvdocker.launchers.launcher import Launcher

# Frameworks that a script is searched for, by the name that it imports.
SEARCHED = tuple(dict.fromkeys(name for launcher in LAUNCHERS for name in launcher.frameworks))
# Packages of other names that are or bring a framework.
_BRINGS = {
    "tensorflow-cpu": "tensorflow", "tensorflow-gpu": "tensorflow", "tensorflow-intel": "tensorflow",
    "tensorflow-rocm": "tensorflow", "tf-nightly": "tensorflow", "tf-keras": "tensorflow",
    "lightning": "torch", "pytorch-lightning": "torch", "accelerate": "torch", "deepspeed": "torch",
    "torchvision": "torch", "torchaudio": "torch", "timm": "torch", "sentence-transformers": "torch",
    "jaxlib": "jax", "flax": "jax", "optax": "jax",
}  # fmt: skip
_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def read_frameworks_label(label: str | None) -> Mapping[str, str] | None:
    """Parse the label of an image that lists its frameworks, such as `torch=2.13.0,numpy=2.1.0`, and return the
    versions by name. Return None if there is no label: then it is not known which frameworks the image has."""
    if label is None:
        return None
    pairs = (word.strip().partition("=") for word in label.split(",") if word.strip())
    return {name.lower(): version for name, _, version in pairs}


def provided_frameworks(installed: Mapping[str, str] | None, requirements: Iterable[str]) -> frozenset[str] | None:
    """Return the names of packages that the job's containers have. These are the packages `installed` in the image, the
    packages in the lines of `requirements`, and the frameworks that those packages bring, such as torch with lightning.
    Return None if the packages are not known: the image has no label (`installed` is None), or a requirement is a URL
    without the name of its package."""
    if installed is None:
        return None
    found = {*installed}
    for line in requirements:
        if line.startswith("-"):
            continue
        if "://" in line.partition("@")[0]:
            return None
        if matched := _REQUIREMENT_NAME.match(line):
            name = re.sub(r"[._-]+", "-", matched[0]).lower()
            found |= {name, _BRINGS.get(name, name)}
    return frozenset(found)


def launcher_problem(
    launcher: Launcher, image: str, provided: frozenset[str] | None, has_gpus: bool
) -> HvdockerError | None:
    """Return the error for a launcher that needs frameworks which the job's containers lack, else None.

    `image` is the name of the cluster's image. `provided` are the packages of the image and of the job's requirements,
    None if unknown. `has_gpus` decides whether the error suggests an image for GPUs or for CPUs."""
    lacking = [name for name in launcher.frameworks if provided is not None and name not in provided]
    if not lacking:
        return None
    return HvdockerError(
        f"the launcher {launcher.name} needs {', '.join(lacking)}, which the image {image} does not have",
        lines=[_has_text(provided)],
        fix=f"{_way_to_get(lacking[0], has_gpus)}; or choose another --launcher; {_way_on(image)}",
    )


def script_problem(
    imported: Mapping[str, str], image: str, provided: frozenset[str] | None, has_gpus: bool
) -> HvdockerError | None:
    """Return the error for a script that imports frameworks which the job's containers lack, else None. `imported` has,
    by framework, the file that imports it. The other parameters are those of `launcher_problem`."""
    lacking = {name: file for name, file in imported.items() if provided is not None and name not in provided}
    if not lacking:
        return None
    name, file = next(iter(lacking.items()))
    return HvdockerError(
        f"{file} imports {name}, which the image {image} does not have",
        lines=[_has_text(provided), *(f"{where} imports {what}" for what, where in lacking.items() if what != name)],
        fix=f"{_way_to_get(name, has_gpus)}; {_way_on(image)}",
    )


def _has_text(provided: frozenset[str] | None) -> str:
    return f"image and requirements have {', '.join(sorted(provided or ())) or 'no framework'}"


def _way_to_get(framework: str, has_gpus: bool) -> str:
    """Return the advice, for an error, how to get the framework: the command that starts a cluster with an image of
    ours that has the framework. If there is no such image, advise to add the framework to requirements.txt."""
    image = next((one.image for one in LAUNCHERS if one.image and framework in one.frameworks), "")
    if not image:
        return f"write {framework} into requirements.txt beside the script"
    return f"hvdocker up --image {image if has_gpus else f'{image}-cpu'}"


def _way_on(image: str) -> str:
    """Return the advice, for an error, how to start the job although the label of the image does not name the
    framework: `--force`. For an image that is not ours, also name the command that builds an image with a new label. An
    image that a user built on one of ours inherits the label of ours, which does not name what the user added."""
    if image in names.OWN_IMAGES:
        return "--force goes on"
    build = shlex.join(("hvdocker", "image", "build", "--from", image))
    return f"if the image has it all the same, {build} makes one that says so, and --force goes on"
