"""The command `diff`: flags and output. jobs/diff.py does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.completers import complete_jobs
from hvdocker.cli.flags.verb import ClusterFlag, InventoryFlag, JsonFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress


def diff(
    ctx: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="JOB1", help="A job, or the beginning of its id.", autocompletion=complete_jobs)
    ],
    second: Annotated[str, typer.Argument(metavar="JOB2", help="Another one.", autocompletion=complete_jobs)],
    patch: Annotated[bool, typer.Option("--patch", metavar="", help="Also the text of changes to the code.")] = False,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    json: JsonFlag = False,
) -> None:
    """Say what was different between two jobs.

      hvdocker diff train-4kq2 train-7abc

    Their code, image, requirements, command, environment, hosts, versions
    and settings; then how each went. What is at home is read there, the
    rest on the hosts.
    """
    refuse_rest(ctx)
    from hvdocker.inventory.locate import locate
    from hvdocker.jobs.diff import as_json
    from hvdocker.jobs.diff import diff as run

    with env_and_progress(is_quiet=json) as (env, _):
        found = run(env, locate(env, inventory, cluster), first, second)
    if json:
        import json as encoder

        print(encoder.dumps(as_json(found, patch), indent=1))
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.diff import show_difference

        show_difference(out(), found, patch)
