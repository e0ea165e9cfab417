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
    """Fetch outputs and logs of the jobs with the ids `jobs` to the controller.

    `has_other_files` says that the code folders also have files that belong to no job and have to be fetched. It is
    set only in the plan of a dry run, for display and for `--script`. A real `down` lists and fetches such files
    after the jobs have ended."""

    jobs: tuple[str, ...]
    has_other_files: bool = False

    def describe(self) -> str:
        what = [f"outputs and logs of {', '.join(self.jobs)}"] if self.jobs else []
        what += ["files of no job in the code folder"] if self.has_other_files else []
        return f"bring home {' and '.join(what)}"
