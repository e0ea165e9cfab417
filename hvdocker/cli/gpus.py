"""The command `gpus`: flags, output and exit code. placement/gpus.py does the work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hvdocker.cli.flags.verb import AcceptFlag, ClusterFlag, InventoryFlag, JsonFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress

if TYPE_CHECKING:
    from hvdocker.placement.gpus import GpuReport


def gpus(
    ctx: typer.Context,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", metavar="", help="Look again every 2 s, until Ctrl-C.")
    ] = False,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    json: JsonFlag = False,
    accept_new_host_keys: AcceptFlag = False,
) -> None:
    """Show every GPU of every host: what it is, what it does, who holds it.

      hvdocker gpus --watch

    A GPU is free when no cluster holds it and processes that are not ours
    have little of its memory (`gpus: {busy: 500MB}` in the inventory). Exit
    3 when the GPUs of a host are not known, 4 when it cannot be reached.
    """
    refuse_rest(ctx)
    from hvdocker.errors import gravest_exit_code
    from hvdocker.inventory.locate import locate
    from hvdocker.placement.gpus import gpus as run

    chosen = inventory
    if watch:
        _watch(chosen, cluster, json, accept_new_host_keys)
        return
    with env_and_progress(is_quiet=json) as (env, _):
        report = run(env, locate(env, chosen, cluster), accept_new_host_keys)
    if json:
        _print_json(report, indent=1)
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.gpus import show_gpus

        show_gpus(out(), report)
    if report.errors:
        raise typer.Exit(int(gravest_exit_code(error.exit_code for error in report.errors)))


def _watch(inventory: Path | None, cluster: str | None, json: bool, accept_new: bool) -> None:
    """Observe the GPUs again and again until Ctrl-C.

    Redraw the table on the terminal, or with `json` print one JSON object per line. Raise UsageProblem if stdout is no
    terminal, unless `json` is set. `inventory` is the file that the user named, None to choose it as other verbs do.
    `cluster` and `accept_new` are the values of `--cluster` and `--accept-new-host-keys`."""
    from hvdocker.console.style import out
    from hvdocker.console.views.gpus import watching
    from hvdocker.errors import UsageProblem
    from hvdocker.inventory.locate import locate
    from hvdocker.placement.gpus import watch_gpus

    if not json and not sys.stdout.isatty():
        raise UsageProblem(
            "--watch draws on a terminal, and stdout is none",
            fix="hvdocker gpus --watch --json writes an object per line",
        )
    with env_and_progress(is_quiet=json) as (env, progress):
        reports = watch_gpus(env, locate(env, inventory, cluster), accept_new)
        if json:
            for report in reports:
                _print_json(report)
            return
        first = next(reports)
        progress.pause()
        with watching(out()) as show:
            show(first)
            for report in reports:
                show(report)


def _print_json(report: GpuReport, indent: int | None = None) -> None:
    import json as encoder

    print(encoder.dumps(report.as_json(), indent=indent), flush=True)
