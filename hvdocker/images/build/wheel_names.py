"""Names of wheels, and the pinned versions of a lock file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

# The images have the Python of Debian 12.
_PYTHON_MINOR = 11
PYTHON_VERSION = f"3.{_PYTHON_MINOR}"
# The newest C library that a wheel may need is that of Debian 12.
_GLIBC_MINOR = 36
_OLDEST_MANYLINUX_MINOR = 5
# Go's names of CPU architectures, and those of wheels.
WHEEL_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)={2,3}(?P<version>[^\s;]+)")


@dataclass(frozen=True)
class Pin:
    """A package of a lock file in one exact version. `name` is in the normal form of package names: lower case, with
    `-` between its parts. `line` is the whole line of the lock file, with its condition if it has one, such as
    `platform_machine == "x86_64"`."""

    name: str
    version: str
    line: str

    def is_in(self, wheel: str) -> bool:
        """Return whether the file name `wheel` is a wheel of this package in this version."""
        name, version, *_ = [*wheel.split("-"), "", ""]
        return wheel.endswith(".whl") and _normal(name) == self.name and version == self.version


def parse_pins(text: str) -> tuple[Pin, ...]:
    """Return the pinned packages of a lock file, in its order."""
    found = ((line.strip(), _PIN.match(line.strip())) for line in text.splitlines())
    return tuple(Pin(_normal(match["name"]), match["version"], line) for line, match in found if match)


def wheels_of(pins: Iterable[Pin], wheels: Iterable[str], architecture: str) -> dict[str, Pin]:
    """Return the wheels that an image can install for the pins. `wheels` are the file names to choose from. The result
    maps each chosen name to its pin. `architecture` is the CPU architecture of the image, such as `amd64`."""
    fitting = [name for name in wheels if _is_installable(name, architecture)]
    return {name: pin for pin in pins for name in fitting if pin.is_in(name)}


def _is_installable(wheel: str, architecture: str) -> bool:
    """Return whether the Python of the images can install the wheel with this file name on this architecture. The last
    three parts of the name are tags: the Python versions, ABIs and platforms that the wheel is for. A part may have
    several tags, with dots between them."""
    _, *tags = wheel.removesuffix(".whl").rsplit("-", 3)
    if len(tags) < 3:
        return False
    pythons, abis, systems = (tag.split(".") for tag in tags)
    fits_machine = not {"any", *platforms(architecture)}.isdisjoint(systems)
    return fits_machine and any(_is_for_our_python(python, abi) for python, abi in product(pythons, abis))


def _is_for_our_python(python: str, abi: str) -> bool:
    """Return whether the images' Python (PYTHON_VERSION) can use a wheel with these two tags of its file name. `abi3`
    and pure Python (`py3`, `none`) also fit later Pythons of major version 3."""
    found = re.fullmatch(r"(cp|py)3(\d*)", python)
    if not found:
        return False
    minor = int(found[2] or 0)
    if found[1] == "py":
        return abi == "none" and minor <= _PYTHON_MINOR
    if abi == "abi3":
        return minor <= _PYTHON_MINOR
    return minor == _PYTHON_MINOR and abi in (f"cp3{_PYTHON_MINOR}", "none")


def platforms(architecture: str) -> tuple[str, ...]:
    """Return the platform tags of wheels that run on Debian 12 and this CPU architecture (such as `amd64`), the best
    first."""
    machine = WHEEL_ARCHITECTURES.get(architecture, architecture)
    modern = [f"manylinux_2_{minor}_{machine}" for minor in range(_GLIBC_MINOR, _OLDEST_MANYLINUX_MINOR - 1, -1)]
    return (*modern, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}",
            f"linux_{machine}")  # fmt: skip


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
