"""The command `attach`: flags and output. jobs/attach.py does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hvdocker.cli.flags.job import JobArgument
from hvdocker.cli.flags.verb import ClusterFlag, InventoryFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress

if TYPE_CHECKING:
    from hvdocker.jobs.attach import AttachReport


def attach(
    ctx: typer.Context, job: JobArgument = None, inventory: InventoryFlag = None, cluster: ClusterFlag = None
) -> None:
    """Watch a running job to its end, as if it had been started here.

      hvdocker attach
      hvdocker attach train-4kq2

    Its last 100 lines, then what it says, its summary, and the exit code
    that train would have. Ctrl-C only leaves: the job goes on. Without a
    name: the newest job that runs. Of a job that has ended: its summary.
    """
    refuse_rest(ctx)
    from hvdocker.console import messages
    from hvdocker.console.style import out
    from hvdocker.console.views.job import JobView
    from hvdocker.inventory.locate import locate_past
    from hvdocker.jobs.attach import AttachViewer
    from hvdocker.jobs.attach import attach as run

    with env_and_progress() as (env, progress):
        located = locate_past(env, inventory, cluster)
        viewer = AttachViewer()

        def found(name: str, placement: object) -> None:
            viewer.line = JobView(progress.output_screen(out()), placement)  # type: ignore[arg-type]  # a Placement
            progress.print_line(messages.attached(name), "quiet")

        viewer.found = found
        report = run(env, located, job, viewer)
    _finish(report, located.flag)


def _finish(report: AttachReport, flag: str) -> None:
    from hvdocker.console.style import err
    from hvdocker.console.views.job import show_summary
    from hvdocker.jobs.outcome import EndedJob, raise_unless_succeeded

    if report.end.record:
        show_summary(err(), report.job, report.placement, report.end.record, ranks=report.ranks)
    raise_unless_succeeded(EndedJob(report.job, report.placement, report.end, report.last_lines, flag))
