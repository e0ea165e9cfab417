"""The launcher `torchrun`: one torchrun agent per host starts the ranks of that host. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hvdocker.launchers.launcher import Launcher, LaunchRequest, check_number

MAX_RESTARTS_FLAG = "--max-restarts"
# The loss of a host makes ranks of other hosts fail, and torchrun counts that as a restart. So an elastic job needs
# some, though torchrun's own default is 0.
ELASTIC_MAX_RESTARTS = 10


class Torchrun(Launcher):
    """For people who want torchrun itself, and for elastic PyTorch jobs."""

    name = "torchrun"
    frameworks = ("torch",)
    image = "torch"
    packages = ("torch", "nccl")
    is_elastic = True
    flags: ClassVar[Mapping[str, int]] = {MAX_RESTARTS_FLAG: 1, "--rdzv-conf": 1, "--monitor-interval": 1}

    def check_values(self, flag: str, values: tuple[str, ...]) -> None:
        if flag == MAX_RESTARTS_FLAG:
            check_number(flag, values, least=0)

    def options(self, job: LaunchRequest) -> dict[str, object]:
        restarts = ELASTIC_MAX_RESTARTS if job.elastic else 0
        flags: list[str] = []
        for flag, values in self.split_flags(job.flags):
            if flag == MAX_RESTARTS_FLAG:
                restarts = int(values[0])
            else:
                flags += (flag, *values)
        return {"flags": flags, "max_restarts": restarts}

    def preview(self, job: LaunchRequest) -> tuple[str, ...]:
        if not job.elastic:
            return super().preview(job)
        bounds = f"{job.elastic.min_np}:{job.elastic.max_np or ''}"
        return (self.name, "-np", bounds, "-H", job.hosts_text, *job.flags)
