"""The launcher `torchrun`: a torchrun process on each host starts the ranks of that host. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hvdocker.launchers.launcher import Launcher, LaunchRequest, check_number

MAX_RESTARTS_FLAG = "--max-restarts"


class Torchrun(Launcher):
    """The launcher `torchrun`, for users who want torchrun itself instead of the launcher `torch`, and for elastic
    PyTorch jobs."""

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
        """Return the options for job.json: the user's flags for torchrun as `flags`. `--max-restarts` is not among
        them; its value is the option `max_restarts`, for which the image has a default of its own."""
        flags: list[str] = []
        options: dict[str, object] = {"flags": flags}
        for flag, values in self.split_flags(job.flags):
            if flag == MAX_RESTARTS_FLAG:
                options["max_restarts"] = int(values[0])
            else:
                flags += (flag, *values)
        return options

    def preview(self, job: LaunchRequest) -> tuple[str, ...]:
        if not job.elastic:
            return super().preview(job)
        bounds = f"{job.elastic.min_np}:{job.elastic.max_np or ''}"
        return (self.name, "-np", bounds, "-H", job.hosts_text, *job.flags)
