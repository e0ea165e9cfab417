"""The command `down`: flags and output. cluster/down.py does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.flags.verb import (
    AcceptFlag,
    ClusterFlag,
    DryRunFlag,
    ForceFlag,
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    ScriptFlag,
    SkipHooksFlag,
    YesFlag,
    check_script_flag,
    refuse_rest,
)
from hvdocker.cli.verb_setup import env_and_progress, hooks_for_verb, plan_printer


def down(
    ctx: typer.Context,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    yes: YesFlag = False,
    discard: Annotated[
        bool, typer.Option("--discard", metavar="", help="Do not bring home outputs that were not fetched.")
    ] = False,
    lock_wait: LockWaitFlag = 0.0,
    accept_new_host_keys: AcceptFlag = False,
    force: ForceFlag = False,
    dry_run: DryRunFlag = False,
    script: ScriptFlag = False,
    skip_hooks: SkipHooksFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Give the machines back: bring outputs home, then remove all that is ours.

      hvdocker down

    What jobs saved in the code folder comes home too. Containers, folders
    and keys go; images stay on the hosts as a cache. Hosts that cannot
    be reached are named (exit 4): run it again when they are back.
    """
    refuse_rest(ctx)
    from hvdocker.cluster.down import DownOptions
    from hvdocker.cluster.down import down as run
    from hvdocker.console import messages
    from hvdocker.console.style import err, out, write_script
    from hvdocker.console.views.fetched import show_fetched
    from hvdocker.errors import HostErrors
    from hvdocker.inventory.locate import locate

    check_script_flag(script, dry_run)
    with env_and_progress(quiet or script) as (env, progress):
        located = locate(env, inventory, cluster)
        options = DownOptions(yes, discard, dry_run, accept_new_host_keys, force, lock_wait)
        hooks = hooks_for_verb(env, progress, located, "down", skip_hooks or dry_run)
        shower = plan_printer(progress, dry_run and not script)
        with hooks.on_failure():
            report = run(env, located, options, shower, agreed=lambda: hooks.before("down"))
    if script:
        from hvdocker.script.script import as_script

        write_script(as_script(report.plan, located.inventory, report.seen))
    for job, fetched in report.fetched.items():
        show_fetched(err(), job, fetched)
    if dry_run:
        if report.errors:
            raise HostErrors("some hosts could not be looked at", report.errors)
        return
    if report.plan.is_empty:
        out().print(f"nothing to do: {located.inventory.cluster} is not up on any host")
    else:
        out().print(messages.cluster_down(located.inventory.cluster, report.hosts))
