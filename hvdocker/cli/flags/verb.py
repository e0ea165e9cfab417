"""Flags of most verbs, and their checks: inventory, cluster, --quiet, --yes, --dry-run, --json, --force, locks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.panels import HOW, SHARED

InventoryFlag = Annotated[
    Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Option(
        "-i",
        "--inventory",
        metavar="FILE",
        help="The inventory, wherever it stands on the line.",
        show_default=False,
        rich_help_panel=SHARED,
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
        rich_help_panel=SHARED,
    ),
]
QuietFlag = Annotated[
    bool, typer.Option("-q", "--quiet", metavar="", help="No progress, only results and errors.", rich_help_panel=HOW)
]
YesFlag = Annotated[bool, typer.Option("-y", "--yes", metavar="", help="Do not ask.", rich_help_panel=HOW)]
DryRunFlag = Annotated[
    bool, typer.Option("--dry-run", metavar="", help="Show the plan and change nothing.", rich_help_panel=HOW)
]
ScriptFlag = Annotated[
    bool,
    typer.Option(
        "--script", metavar="", help="With --dry-run: print the plan as a runnable shell script.", rich_help_panel=HOW
    ),
]
ForceFlag = Annotated[
    bool, typer.Option("--force", metavar="", help="Also where the cluster is another owner's.", rich_help_panel=SHARED)
]
LockWaitFlag = Annotated[
    float,
    typer.Option(
        "--lock-wait",
        metavar="SECONDS",
        min=0,
        help="How long to wait for hosts that another run holds.",
        show_default=False,
        rich_help_panel=SHARED,
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", metavar="", help="One JSON object on stdout.", rich_help_panel=HOW)]
AcceptFlag = Annotated[
    bool,
    typer.Option(
        "--accept-new-host-keys",
        metavar="",
        help="Trust hosts that are not in known_hosts yet.",
        rich_help_panel=SHARED,
    ),
]
SkipHooksFlag = Annotated[
    bool,
    typer.Option(
        "--skip-hooks", metavar="", help="Run none of the programs in .hvdocker/hooks/.", rich_help_panel=SHARED
    ),
]


def refuse_rest(ctx: typer.Context) -> None:
    """Raise UsageProblem if there are words after `--`. Verbs that take no such words call this."""
    if ctx.obj is not None and ctx.obj.rest:
        from hvdocker.errors import UsageProblem

        raise UsageProblem(f"this command takes nothing after --, got {' '.join(ctx.obj.rest)}")


def check_script_flag(is_script: bool, is_dry_run: bool) -> None:
    from hvdocker.errors import UsageProblem

    if is_script and not is_dry_run:
        raise UsageProblem("--script goes with --dry-run")
