"""The steps that stop jobs and fetch their files. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.plan.plan import Step


@dataclass(frozen=True)
class StopJob(Step):
    """Stop a running job. `id` is the id of its master container."""

    job: str
    id: str

    def describe(self) -> str:
        return f"stop {self.job}, which is running"


@dataclass(frozen=True)
class FetchJobs(Step):
    """Fetch outputs and logs of the jobs with these ids to the controller."""

    jobs: tuple[str, ...]

    def describe(self) -> str:
        return f"bring home outputs and logs of {', '.join(self.jobs)}"
