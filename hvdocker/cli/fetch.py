"""The command `fetch`: flags and output. jobs/fetch.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.job import JobArgument
from hvdocker.cli.flags.verb import ClusterFlag, InventoryFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress


def fetch(
    ctx: typer.Context,
    job: JobArgument = None,
    folder: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="Where to. Default: .hvdocker/jobs/JOB.", show_default=False),
    ] = None,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
) -> None:
    """Bring a job's outputs and logs home from all its hosts.

      hvdocker fetch
      hvdocker fetch train-4kq2 results/

    What the script saved in its working folder comes too, under code/.
    One folder: equal files once; files that differ between hosts as
    name.HOST, and listed. Hosts that are away are named (exit 4), and files
    that cannot be read (exit 1); all others come all the same.
    """
    refuse_rest(ctx)
    from hvdocker.console import messages
    from hvdocker.console.style import err, out
    from hvdocker.console.views.fetched import show_code_files
    from hvdocker.inventory.locate import locate
    from hvdocker.jobs.fetch import fetch as run

    with env_and_progress() as (env, _):
        report = run(env, locate(env, inventory, cluster), job, folder)
    for name in report.fetched.clashes:
        err().print(f"differs between hosts, kept as {name}.HOST: {name}")
    for line in report.fetched.skipped:
        err().print(f"left out: {line}")
    if report.is_running:
        err().print(f"{report.job} is still running: fetch again when it has ended")
    show_code_files(err(), report.fetched)
    err().print(messages.fetched(report.fetched.files, report.fetched.bytes), style="quiet")
    out().print(str(report.folder))
    report.raise_errors()
