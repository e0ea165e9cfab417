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
    """Fetch outputs and logs of the jobs with these ids to the controller.

    `has_other_files`: the code folders have files that belong to no job, and these are to be fetched too. Only a dry
    run looks at the code folders so early. `down` fetches what is there after the jobs have ended."""

    jobs: tuple[str, ...]
    has_other_files: bool = False

    def describe(self) -> str:
        what = [f"outputs and logs of {', '.join(self.jobs)}"] if self.jobs else []
        what += ["files of no job in the code folder"] if self.has_other_files else []
        return f"bring home {' and '.join(what)}"
