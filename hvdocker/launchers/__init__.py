"""Launchers: ways to start the ranks of a job. Pure; one file per launcher.

launcher.py has the base class Launcher. Every launcher is one file with a subclass, and one entry of LAUNCHERS here.
Each has a counterpart of the same name in the image (inside/launchers/), which starts the ranks. choose.py decides
which launcher a job gets. passed_flags.py separates the flags of launchers from the rest of the command line.
frameworks.py decides whether an image has the frameworks that a launcher or a script needs. horovod_output.py removes a
traceback of horovodrun from the output of a job. docs/launchers.md shows how to add a launcher."""

from __future__ import annotations

from hvdocker.launchers.each import Each
from hvdocker.launchers.horovod import Horovod
from hvdocker.launchers.jax import Jax
from hvdocker.launchers.launcher import Launcher
from hvdocker.launchers.mpi import Mpi
from hvdocker.launchers.tensorflow import Tensorflow
from hvdocker.launchers.torch import Torch
from hvdocker.launchers.torchrun import Torchrun

LAUNCHERS: tuple[Launcher, ...] = (Horovod(), Torch(), Torchrun(), Tensorflow(), Jax(), Mpi(), Each())
NAMES = tuple(launcher.name for launcher in LAUNCHERS)
# The launcher of images and jobs that name none. Versions of hvdocker that had only this launcher made them.
DEFAULT = NAMES[0]


def named(name: str) -> Launcher:
    """Return the launcher with this name. Return the default launcher for an empty or unknown name, because the name
    may come from a label that another version of hvdocker wrote."""
    return next((launcher for launcher in LAUNCHERS if launcher.name == name), LAUNCHERS[0])
