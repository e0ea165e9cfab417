"""The command `keys rotate`: flags and output. cluster/keys.py does the work."""

from __future__ import annotations

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
    check_script_flag,
    refuse_rest,
)
from hvdocker.cli.verb_command import GroupCommand, VerbCommand
from hvdocker.cli.verb_setup import env_and_progress, plan_printer

app = typer.Typer(cls=GroupCommand, help="Replace the keys of the cluster.", rich_markup_mode=None)


@app.callback()
def _keys() -> None:
    """Replace the keys of the cluster."""


@app.command("rotate", cls=VerbCommand)
def rotate(
    ctx: typer.Context,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    accept_new_host_keys: AcceptFlag = False,
    force: ForceFlag = False,
    lock_wait: LockWaitFlag = 0.0,
    dry_run: DryRunFlag = False,
    script: ScriptFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Make new keys for the cluster: the old ones open nothing any more.

      hvdocker keys rotate

    Workers are replaced by new ones with a new client key and new host
    keys; a running job is named and left alone. A run that was cut off is
    mended by another, or by `hvdocker up`.
    """
    refuse_rest(ctx)
    from hvdocker.cluster.keys import RotateOptions
    from hvdocker.cluster.keys import rotate as run
    from hvdocker.console import messages
    from hvdocker.console.style import out, write_script
    from hvdocker.inventory.locate import locate

    check_script_flag(script, dry_run)
    with env_and_progress(quiet or script) as (env, progress):
        located = locate(env, inventory, cluster)
        options = RotateOptions(accept_new_host_keys, dry_run, force, lock_wait)
        report = run(env, located, options, plan_printer(progress, dry_run and not script))
    if script:
        from hvdocker.script.script import as_script

        write_script(as_script(report.plan, located.inventory, report.hosts))
    elif not dry_run:
        out().print(messages.keys_rotated(located.inventory.cluster, len(report.host_plans)))
