"""The command `jobs`: flags, output and exit code. jobs/jobs.py does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.flags.verb import InventoryFlag, JsonFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress


def jobs(
    ctx: typer.Context,
    shows_all: Annotated[
        bool, typer.Option("--all", metavar="", help="Every ended job, not only the newest 20.")
    ] = False,
    inventory: InventoryFlag = None,
    json: JsonFlag = False,
) -> None:
    """Show the jobs of every cluster on these hosts, and who waits for slots.

      hvdocker jobs --all

    What is on the hosts is seen by any laptop with the inventory. Jobs that
    came home (fetch, down) stay listed when their cluster is gone.
    """
    refuse_rest(ctx)
    from hvdocker.errors import gravest_exit_code
    from hvdocker.inventory.locate import locate_past
    from hvdocker.jobs.jobs import jobs as run

    with env_and_progress(is_quiet=json) as (env, _):
        report = run(env, locate_past(env, inventory), shows_all)
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.jobs import show_jobs

        show_jobs(out(), report, env.now())
    if report.errors:
        raise typer.Exit(int(gravest_exit_code(error.exit_code for error in report.errors.values())))
