"""The command `gc`: flags and output. gc/gc.py does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.flags.verb import (
    AcceptFlag,
    DryRunFlag,
    ForceFlag,
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    YesFlag,
    refuse_rest,
)
from hvdocker.cli.verb_setup import env_and_progress, plan_printer


def gc(
    ctx: typer.Context,
    images: Annotated[
        bool, typer.Option("--images", metavar="", help="Also images of ours that no container uses.")
    ] = False,
    inventory: InventoryFlag = None,
    yes: YesFlag = False,
    discard: Annotated[
        bool, typer.Option("--discard", metavar="", help="Do not bring home outputs that were not fetched.")
    ] = False,
    lock_wait: LockWaitFlag = 60.0,
    accept_new_host_keys: AcceptFlag = False,
    force: ForceFlag = False,
    dry_run: DryRunFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Give back what nobody uses any more: dead runs, leftovers, old images.

      hvdocker gc --images

    Clusters of runs whose client is gone (outputs come home first), jobs
    that never started, containers of earlier doctors, what is left of
    images that were sent. Shows it and asks. Yours only, without --force.
    """
    refuse_rest(ctx)
    from hvdocker.console import messages
    from hvdocker.console.style import err, out
    from hvdocker.console.views.fetched import show_fetched
    from hvdocker.errors import raise_all
    from hvdocker.gc.gc import GcOptions
    from hvdocker.gc.gc import gc as run
    from hvdocker.inventory.locate import locate

    with env_and_progress(quiet) as (env, progress):
        located = locate(env, inventory)
        options = GcOptions(yes, discard, images, dry_run, accept_new_host_keys, force, lock_wait)
        report = run(env, located, options, plan_printer(progress, not yes))
    for job, fetched in report.fetched.items():
        show_fetched(err(), job, fetched)
    hosts = [host.name for host in located.inventory.hosts]
    seen = len(hosts) - len({error.host for error in report.errors} & {*hosts})
    if report.plan.is_empty:
        if seen:
            out().print(messages.nothing_left(seen, len(hosts)))
    elif not dry_run:
        out().print(messages.collected(report.runs, len(list(report.plan.steps))))
    raise_all("not everything could be looked at or given back", report.errors)
