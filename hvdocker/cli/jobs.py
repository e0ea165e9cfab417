"""The command `jobs`: flags, output and exit code. jobs/jobs.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.verb import InventoryFlag, JsonFlag, one_inventory, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress


def jobs(
    ctx: typer.Context,
    inventory: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="The YAML file that names the hosts.", show_default=False),
    ] = None,
    shows_all: Annotated[
        bool, typer.Option("--all", metavar="", help="Every ended job, not only the newest 20.")
    ] = False,
    inventory_flag: InventoryFlag = None,
    json: JsonFlag = False,
) -> None:
    """Show the jobs of every cluster on these hosts, and who waits for slots.

    What is on the hosts is seen by any laptop with the inventory. Jobs that
    came home (fetch, down) stay listed when their cluster is gone.
    """
    refuse_rest(ctx)
    from hvdocker.errors import gravest_exit_code
    from hvdocker.inventory.locate import locate_past
    from hvdocker.jobs.jobs import jobs as run

    with env_and_progress(is_quiet=json) as (env, _):
        report = run(env, locate_past(env, one_inventory(inventory, inventory_flag)), shows_all)
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.jobs import show_jobs

        show_jobs(out(), report, env.now())
    if report.errors:
        raise typer.Exit(int(gravest_exit_code(error.exit_code for error in report.errors.values())))
