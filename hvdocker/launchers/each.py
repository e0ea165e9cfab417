"""The launcher `each`: runs the command once per rank. It is a pool: the ranks are independent of each other. Pure."""

from __future__ import annotations

from hvdocker.launchers.launcher import Launcher, LaunchRequest


class Each(Launcher):
    """The launcher `each`, for sweeps and pre-processing. `-np` may exceed the slots: then ranks wait for a free slot.
    A rank that fails does not end the others, unless the job has the flag `--fail-fast`."""

    name = "each"
    is_pool = True

    def options(self, job: LaunchRequest) -> dict[str, object]:
        return {"fail_fast": job.fails_fast}

    def preview(self, job: LaunchRequest) -> tuple[str, ...]:
        return (*super().preview(job), *(("--fail-fast",) if job.fails_fast else ()))
