"""hvdocker stop"""

from __future__ import annotations

import typer

from hvdocker.cli.logs import JobArgument
from hvdocker.cli.state import ClusterFlag, ForceFlag, InventoryFlag, no_rest, working


def stop(
    ctx: typer.Context,
    job: JobArgument = None,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    force: ForceFlag = False,
) -> None:
    """Stop a job: every rank on every host gets SIGTERM, then SIGKILL.

    The workers stay, ready for the next job.
    """
    no_rest(ctx)
    from hvdocker.console.style import out
    from hvdocker.ops.locate import locate
    from hvdocker.ops.logs import stop as run

    with working() as (env, _):
        name, was_running = run(env, locate(env, inventory, cluster), job, force)
    out().print(f"{name} is stopped" if was_running else f"{name} had ended already")
