"""The command `logs`: flags and output. jobs/logs.py does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hvdocker.cli.completers import complete_hosts
from hvdocker.cli.flags.job import JobArgument
from hvdocker.cli.flags.verb import ClusterFlag, InventoryFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress

if TYPE_CHECKING:
    from hvdocker.jobs.logs import LogsRequest


def logs(
    ctx: typer.Context,
    job: JobArgument = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", metavar="", help="Go on until the job ends.")] = False,
    tail: Annotated[
        Optional[int],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Option(
            "-n", "--tail", metavar="N", help="Only the last N of the lines that are wanted.", min=0, show_default=False
        ),
    ] = None,
    since: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option("--since", metavar="WHEN", help="Not before: 90s, 10m, 2026-05-04T12:30.", show_default=False),
    ] = None,
    ranks: Annotated[
        Optional[list[int]],  # noqa: UP045  # as above
        typer.Option("--rank", metavar="R", min=0, help="Only this rank's; may be repeated.", show_default=False),
    ] = None,
    hosts: Annotated[
        Optional[list[str]],  # noqa: UP045  # as above
        typer.Option(
            "--host",
            metavar="H",
            help="Only this host's; may be repeated.",
            show_default=False,
            autocompletion=complete_hosts,
        ),
    ] = None,
    regex: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option("--regex", metavar="RE", help="Only lines in which this matches.", show_default=False),
    ] = None,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
) -> None:
    """Print a job's output again; with -f, as it comes.

      hvdocker logs -f
      hvdocker logs train-4kq2 -n 100 --rank 1 --regex 'loss|error'

    Ctrl-C only leaves: the job goes on. Where the job's container is gone
    or away, its copy at home is printed, else what the ranks' hosts kept.
    """
    refuse_rest(ctx)
    request = _logs_request(follow, tail, since, ranks or [], hosts or [], regex)
    from hvdocker.console.style import out
    from hvdocker.console.views.job import JobView
    from hvdocker.inventory.locate import locate_past
    from hvdocker.jobs.logs import logs as run

    with env_and_progress() as (env, progress):
        view: JobView | None = None

        def show(line: object) -> None:
            nonlocal view
            # Not before the first line: until then the live table of the hosts is shown.
            view = view or JobView(progress.output_screen(out()))
            view(line)  # type: ignore[arg-type]  # it is a Line

        run(env, locate_past(env, inventory, cluster), job, request, show)


def _logs_request(
    follow: bool, tail: int | None, since: str | None, ranks: list[int], hosts: list[str], regex: str | None
) -> LogsRequest:
    from hvdocker.jobs.log.since import parse_since
    from hvdocker.jobs.logs import LogsRequest, line_filter

    wanted = line_filter(ranks, hosts, regex)
    return LogsRequest(follow, tail, parse_since(since) if since else None, wanted)
