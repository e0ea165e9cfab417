"""hvdocker down"""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.state import AcceptFlag, DryRunFlag, InventoryFlag, QuietFlag, ScriptFlag, YesFlag, no_rest, working


def down(
    ctx: typer.Context,
    inventory: InventoryFlag = None,
    yes: YesFlag = False,
    discard: Annotated[
        bool, typer.Option("--discard", help="Do not bring home outputs that were not fetched.")
    ] = False,
    accept_new_host_keys: AcceptFlag = False,
    dry_run: DryRunFlag = False,
    script: ScriptFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Give the machines back: bring outputs home, then remove all that is ours.

    Containers, folders and keys go; images stay on the hosts as a cache. Hosts that cannot be reached are
    named (exit 4): run it again when they are back.
    """
    no_rest(ctx)
    from hvdocker.console.plan import show_plan
    from hvdocker.console.style import err, out
    from hvdocker.errors import HostErrors, UsageProblem
    from hvdocker.ops.down import DownOptions
    from hvdocker.ops.down import down as run
    from hvdocker.ops.locate import locate

    if script and not dry_run:
        raise UsageProblem("--script goes with --dry-run")
    with working(quiet or script) as (env, progress):
        located = locate(env, inventory)

        def show(plan: object) -> None:
            if dry_run and not script:
                progress.pause()
                show_plan(out(), plan)  # type: ignore[arg-type]  # it is a Plan

        report = run(env, located, DownOptions(yes, discard, dry_run, accept_new_host_keys), show)
    if script:
        from hvdocker.plan.script import script_of

        print(script_of(report.plan, located.inventory, {}), end="")
    for job, folder in report.fetched.items():
        err().print(f"{job}: outputs and logs are in {folder}", style="quiet")
    if dry_run:
        if report.errors:
            raise HostErrors("some hosts could not be looked at", report.errors)
        return
    if report.plan.is_empty:
        out().print(f"nothing to do: {located.inventory.cluster} is not up on any host")
    else:
        out().print(f"{located.inventory.cluster} is down: {len(located.inventory.hosts)} hosts are clean")
