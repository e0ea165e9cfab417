"""Which frameworks an image has, and which launchers it can serve with them. Pure.

The label `hvdocker.frameworks` has them as text: `torch=2.13.0+cpu,numpy=2.4.6`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hvdocker.launchers import LAUNCHERS
from hvdocker.launchers.launcher import Launcher

# The frameworks that the label lists first, in this order. `openmpi` is a program (mpirun) or the package of that name.
_FIRST = (
    "tensorflow", "keras", "horovod", "torch", "lightning", "accelerate", "jax", "mpi4py", "openmpi", "numpy",
)  # fmt: skip
# Packages that install a framework under another name.
OTHER_NAMES = {
    "tensorflow-cpu": "tensorflow",
    "tensorflow-rocm": "tensorflow",
    "intel-tensorflow": "tensorflow",
    "pytorch-lightning": "lightning",
}


def searched_frameworks(launchers: Iterable[Launcher]) -> tuple[str, ...]:
    """Return the names of the frameworks that an image is searched for, in the order in which the label lists them:
    first a fixed list, then further frameworks that `launchers` need."""
    named = (name for launcher in launchers for name in (*launcher.frameworks, launcher.default_for) if name)
    return tuple(dict.fromkeys((*_FIRST, *named)))


FRAMEWORKS = searched_frameworks(LAUNCHERS)


@dataclass(frozen=True)
class PythonFound:
    """A Python interpreter on the PATH of an image."""

    path: str
    version: str


@dataclass(frozen=True)
class FrameworksFound:
    """What the search in a container of an image found. `versions` has the versions of frameworks by name. `pythons`
    are the interpreters in the order of the PATH. `closed` are folders of the PATH that ranks may not enter."""

    versions: Mapping[str, str]
    pythons: tuple[PythonFound, ...] = ()
    closed: tuple[str, ...] = ()


def frameworks_text(found: Mapping[str, str]) -> str:
    """Return the value of the label `hvdocker.frameworks`. `found` has the versions of an image's frameworks by
    name."""
    return ",".join(f"{name}={found[name]}" for name in FRAMEWORKS if name in found)


def default_launcher(found: Mapping[str, str]) -> str:
    """Return the name of the launcher that a job gets if neither the user nor the inventory names one. `found` has the
    versions of the image's frameworks by name."""
    return next((launcher.name for launcher in LAUNCHERS if launcher.default_for in found), "each")


def launchers_served(found: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the launchers that an image can serve. `found` has the versions of the image's frameworks by
    name."""
    return tuple(launcher.name for launcher in LAUNCHERS if all(name in found for name in launcher.frameworks))
