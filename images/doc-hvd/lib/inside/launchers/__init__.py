"""The launchers: one file for each way to start the ranks of a job, behind the base class in `launcher.py`.

`launcher_of` finds the launcher of a job. `spawned.py` is the base class of all launchers but Horovod: hvdocker's own
program `spawn` starts their processes. `host_prefix.py` serves all launchers: it adds the host to the header of an
output line if the rank is not on the host that the placement names. Horovod has two files: `horovod.py`, and
`horovod_elastic.py` for elastic jobs.

To add a launcher, add its file here, its name to NAMES, and its counterpart in `hvdocker/launchers` (see the docstring
there). Files here are pure. They import only each other, `hvdocker.protocol` and `inside/runtime`."""

from importlib import import_module

from hvdocker.protocol.job_file import Job, JobError
from inside.launchers.launcher import Launcher

# Each is a module of this package with an instance `LAUNCHER`.
NAMES = ("horovod", "torch", "torchrun", "tensorflow", "jax", "mpi", "each")


def named(name: str) -> Launcher:
    """Return the launcher `name`. Raises JobError if this image does not know it."""
    if name not in NAMES:
        raise JobError(f"this image does not know the launcher {name!r}, only {', '.join(NAMES)}")
    launcher: Launcher = import_module(f"inside.launchers.{name}").LAUNCHER
    return launcher


def launcher_of(job: Job) -> Launcher:
    """Return the launcher that job.json names, or its variant that this job needs, for example because the job is
    elastic. Raises JobError if this image does not know the launcher."""
    return named(job.launcher.name).for_job(job)
