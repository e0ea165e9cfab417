"""The command `stop`: flags and output. jobs/stop.py does the work."""

from __future__ import annotations

import typer

from hvdocker.cli.flags.job import JobArgument
from hvdocker.cli.flags.verb import ClusterFlag, ForceFlag, InventoryFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress


def stop(
    ctx: typer.Context,
    job: JobArgument = None,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    force: ForceFlag = False,
) -> None:
    """Stop a job: every rank on every host gets SIGTERM, then SIGKILL.

      hvdocker stop train-4kq2

    The workers stay, ready for the next job. Where the job's head is away,
    its ranks on the other hosts are ended.
    """
    refuse_rest(ctx)
    from hvdocker.console import messages
    from hvdocker.console.style import out
    from hvdocker.inventory.locate import locate
    from hvdocker.jobs.stop import stop as run

    with env_and_progress() as (env, _):
        report = run(env, locate(env, inventory, cluster), job, force)
    for host, number in report.ended.items():
        out().print(messages.ranks_ended(report.job, host, number))
    report.raise_errors()
    out().print(f"{report.job} is stopped" if report.was_running else f"{report.job} had ended already")
