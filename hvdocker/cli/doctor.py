"""The command `doctor`: flags, output and exit code. doctor/doctor.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hvdocker.cli.flags.verb import (
    AcceptFlag,
    ClusterFlag,
    InventoryFlag,
    JsonFlag,
    QuietFlag,
    refuse_rest,
)
from hvdocker.cli.verb_setup import env_and_progress

if TYPE_CHECKING:
    from hvdocker.doctor.doctor import DoctorOptions


def doctor(
    ctx: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", metavar="", help="Also measure bandwidth between hosts.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", metavar="", help="Show what every check found.")] = False,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    json: JsonFlag = False,
    accept_new_host_keys: AcceptFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Find out what stands between these hosts and a training.

      hvdocker doctor inventory.yaml

    Looks at every host at once, and leaves nothing behind. Exit 3 when
    something is BAD, 4 when a host cannot be reached; warn stops no training.
    """
    refuse_rest(ctx)
    from hvdocker.doctor.doctor import DoctorOptions

    options = DoctorOptions(accept_new_host_keys, deep)
    run_and_show(inventory, options, json, verbose, quiet, cluster)


def run_and_show(
    inventory: Path | None,
    options: DoctorOptions,
    json: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    cluster: str | None = None,
) -> None:
    """Run the doctor and print its report. `init` calls this too, to check the hosts of a new inventory.

    `inventory` is the file that the user named, None to choose it as other verbs do. `json` prints the report as JSON.
    `verbose` adds the good findings. `quiet` shows no progress. `cluster` is the value of `--cluster`. Raise typer.Exit
    if the report has an exit code other than 0."""
    from hvdocker.doctor.doctor import doctor as run
    from hvdocker.inventory.locate import locate

    with env_and_progress(quiet or json) as (env, _):
        report = run(env, locate(env, inventory, cluster), options)
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.doctor import show_report

        show_report(out(), report, verbose)
    if report.exit_code:
        raise typer.Exit(int(report.exit_code))
