"""The commands `lock status` and `lock release`: flags and output. locks/lock.py does the work."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from hvdocker.cli.completers import complete_hosts
from hvdocker.cli.flags.verb import InventoryFlag, JsonFlag, YesFlag, refuse_rest
from hvdocker.cli.verb_command import GroupCommand, VerbCommand
from hvdocker.cli.verb_setup import env_and_progress

app = typer.Typer(
    cls=GroupCommand, help="Show who is changing the hosts, and release a dead lock.", rich_markup_mode=None
)


@app.callback()
def _lock() -> None:
    """Show who is changing the hosts, and release a dead lock."""


@app.command("status", cls=VerbCommand)
def status(ctx: typer.Context, inventory: InventoryFlag = None, json: JsonFlag = False) -> None:
    """Show every host's lock: who holds it, since when, doing what.

      hvdocker lock status

    A lock is stale when its holder gave no sign of life for 60 s; the next
    verb takes it over by itself.
    """
    refuse_rest(ctx)
    from hvdocker.console.style import out
    from hvdocker.console.views.lock import show_locks
    from hvdocker.errors import gravest_exit_code
    from hvdocker.inventory.locate import locate
    from hvdocker.locks.lock import lock_status as run

    with env_and_progress(is_quiet=json) as (env, _):
        report = run(env, locate(env, inventory))
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        show_locks(out(), report)
    if report.errors:
        raise typer.Exit(int(gravest_exit_code(error.exit_code for error in report.errors.values())))


@app.command("release", cls=VerbCommand)
def release(
    ctx: typer.Context,
    hosts: Annotated[
        Optional[list[str]],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="Hosts of the inventory. Default: all.", show_default=False, autocompletion=complete_hosts),
    ] = None,
    inventory: InventoryFlag = None,
    yes: YesFlag = False,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Also locks that another owner holds.")] = False,
) -> None:
    """Release your locks, where the run that took them is dead.

      hvdocker lock release gpu-b

    A run that is still alive notices, stops, and says so.
    """
    refuse_rest(ctx)
    from hvdocker.console.style import out
    from hvdocker.inventory.locate import locate
    from hvdocker.locks.lock import lock_release as run

    with env_and_progress() as (env, _):
        released = run(env, locate(env, inventory), hosts or [], force, yes)
    for name, holder in released.items():
        out().print(f"{name}: released the lock of {holder.who} ({holder.doing})")
    if not released:
        out().print("nothing to do: no host is locked")
