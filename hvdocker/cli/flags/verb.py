"""Flags of most verbs, and their checks: inventory, cluster, --quiet, --yes, --dry-run, --json, --force, locks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

InventoryFlag = Annotated[
    Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Option(
        "-i", "--inventory", metavar="FILE", help="The inventory of the cluster that is meant.", show_default=False
    ),
]
ClusterFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--cluster",
        metavar="NAME",
        envvar="HVDOCKER_CLUSTER",
        help="A cluster of another name than the inventory's.",
        show_default=False,
    ),
]
QuietFlag = Annotated[bool, typer.Option("-q", "--quiet", metavar="", help="No progress, only results and errors.")]
YesFlag = Annotated[bool, typer.Option("-y", "--yes", metavar="", help="Do not ask.")]
DryRunFlag = Annotated[bool, typer.Option("--dry-run", metavar="", help="Show the plan and change nothing.")]
ScriptFlag = Annotated[
    bool, typer.Option("--script", metavar="", help="With --dry-run: print the plan as a runnable shell script.")
]
ForceFlag = Annotated[bool, typer.Option("--force", metavar="", help="Also where the cluster is another owner's.")]
LockWaitFlag = Annotated[
    float,
    typer.Option(
        "--lock-wait",
        metavar="SECONDS",
        min=0,
        help="How long to wait for hosts that another run holds.",
        show_default=False,
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", metavar="", help="One JSON object on stdout.")]
AcceptFlag = Annotated[
    bool, typer.Option("--accept-new-host-keys", metavar="", help="Trust hosts that are not in known_hosts yet.")
]
SkipHooksFlag = Annotated[
    bool, typer.Option("--skip-hooks", metavar="", help="Run none of the programs in .hvdocker/hooks/.")
]


def refuse_rest(ctx: typer.Context) -> None:
    """Raise UsageProblem if there are words after `--`. Verbs that take no such words call this."""
    if ctx.obj is not None and ctx.obj.rest:
        from hvdocker.errors import UsageProblem

        raise UsageProblem(f"this command takes nothing after --, got {' '.join(ctx.obj.rest)}")


def one_inventory(argument: Path | None, flag: Path | None) -> Path | None:
    """Return the inventory file that the user gave as an argument or with `-i`. Return None if the user gave none.
    Raise UsageProblem if both are given."""
    if argument and flag:
        from hvdocker.errors import UsageProblem

        raise UsageProblem("an inventory and -i exclude each other")
    return argument or flag


def check_script_flag(is_script: bool, is_dry_run: bool) -> None:
    from hvdocker.errors import UsageProblem

    if is_script and not is_dry_run:
        raise UsageProblem("--script goes with --dry-run")
