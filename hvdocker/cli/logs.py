"""hvdocker logs"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from hvdocker.cli.state import ClusterFlag, InventoryFlag, no_rest, working

JobArgument = Annotated[
    Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Argument(help="The job, or the beginning of its id. Default: the newest.", show_default=False),
]


def logs(
    ctx: typer.Context,
    job: JobArgument = None,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", metavar="", help="Go on until the job ends.")
    ] = False,
    tail: Annotated[
        Optional[int],  # noqa: UP045  # as above
        typer.Option("-n", "--tail", metavar="N", help="Only the last lines.", min=0, show_default=False),
    ] = None,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
) -> None:
    """Print a job's output again; with -f, as it comes.

    Ctrl-C only leaves: the job goes on.
    """
    no_rest(ctx)
    from hvdocker.console.job import JobView
    from hvdocker.console.style import out
    from hvdocker.ops.locate import locate
    from hvdocker.ops.logs import logs as run

    with working() as (env, progress):
        view = JobView(out())

        def show(line: object) -> None:
            progress.pause()
            view(line)  # type: ignore[arg-type]  # it is a Line

        run(env, locate(env, inventory, cluster), job, follow, tail, show)
