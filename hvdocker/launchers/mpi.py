"""The launcher `mpi`: Open MPI's mpirun, which is in the image, starts the ranks on the job's hosts over ssh. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hvdocker.launchers.launcher import Launcher, LaunchRequest


class Mpi(Launcher):
    """The launcher `mpi`, for programs with mpi4py or in C++. Of mpirun's flags only those in `flags` are accepted;
    none of them selects hosts or numbers of ranks."""

    name = "mpi"
    frameworks = ("openmpi",)
    default_for = "mpi4py"
    packages = ("openmpi", "mpi4py")
    flags: ClassVar[Mapping[str, int]] = {
        "--mca": 2, "--prtemca": 2, "--pmixmca": 2, "--bind-to": 1, "--rank-by": 1, "--report-bindings": 0,
        "--display-map": 0,
    }  # fmt: skip

    def options(self, job: LaunchRequest) -> dict[str, object]:
        return {"flags": list(job.flags)}
