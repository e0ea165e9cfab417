"""The command `status`: flags, output and exit code. cluster/status.py does the work."""

from __future__ import annotations

import typer

from hvdocker.cli.flags.verb import ClusterFlag, InventoryFlag, JsonFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress


def status(
    ctx: typer.Context, inventory: InventoryFlag = None, cluster: ClusterFlag = None, json: JsonFlag = False
) -> None:
    """Show every host's worker and the cluster's jobs.

      hvdocker status inventory.yaml

    Everything is read from the hosts: any laptop with the inventory sees
    the same.
    """
    refuse_rest(ctx)
    from hvdocker.cluster.status import status as run
    from hvdocker.console.style import out
    from hvdocker.console.views.status import show_status
    from hvdocker.errors import gravest_exit_code
    from hvdocker.inventory.locate import locate

    with env_and_progress(is_quiet=json) as (env, _):
        report = run(env, locate(env, inventory, cluster))
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        show_status(out(), report, env.now())
    if report.errors:
        raise typer.Exit(int(gravest_exit_code(error.exit_code for error in report.errors)))
