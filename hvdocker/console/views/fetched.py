"""Shows which files of a job were fetched, and which were not."""

from __future__ import annotations

from rich.console import Console

from hvdocker.console import messages
from hvdocker.jobs.results.merge import FetchedFiles


def show_fetched(console: Console, job: str, fetched: FetchedFiles) -> None:
    """Print where the fetched files of a job are on this machine.

    `job` is the id of the job. It is empty for files that belong to no job."""
    if job:
        console.print(f"{job}: outputs and logs are in {fetched.folder}", style="quiet")
    show_code_files(console, fetched)
    for line in fetched.skipped:
        console.print(f"left out: {line}")


def show_code_files(console: Console, fetched: FetchedFiles) -> None:
    """Print how many files were fetched from the code folder, and where they are now. Print nothing if there are
    none."""
    if fetched.code_files:
        console.print(messages.saved_beside_script(fetched.code_files, f"{fetched.folder}/code/"))
