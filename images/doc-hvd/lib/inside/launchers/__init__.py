"""The launchers: one file for each way to start the ranks of a job, behind the base class in `launcher.py`.

`named` finds the launcher that job.json names. To add a launcher, add its file here, its name to NAMES, and a file of
the same name in `hvdocker/launchers`. Files here are pure and import only `inside/protocol` and `inside/runtime`."""

from importlib import import_module

from inside.launchers.launcher import Launcher

# Each is a module of this package with an instance `LAUNCHER`.
NAMES = ("horovod", "torch", "torchrun", "tensorflow", "jax", "mpi", "each")


def named(name: str) -> Launcher:
    """Return the launcher `name`. Raises ValueError if this image does not know it."""
    if name not in NAMES:
        raise ValueError(f"this image does not know the launcher {name!r}, only {', '.join(NAMES)}")
    launcher: Launcher = import_module(f"inside.launchers.{name}").LAUNCHER
    return launcher
