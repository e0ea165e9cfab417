"""Flags that most verbs share, and what a verb needs around its work: Env, progress, hooks, plan output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from hvdocker.console.progress import Progress
    from hvdocker.env import Env
    from hvdocker.hooks.hooks import Hooks
    from hvdocker.inventory.locate import Located
    from hvdocker.plan.plan import Plan


@dataclass(frozen=True)
class Invocation:
    """The object of the typer context. `rest` are the words after `--`; None if there is no `--`."""

    rest: tuple[str, ...] | None = None


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
    """Raise UsageProblem if there are words after `--`: only verbs that run a user's command take them."""
    if ctx.obj is not None and ctx.obj.rest:
        from hvdocker.errors import UsageProblem

        raise UsageProblem(f"this command takes nothing after --, got {' '.join(ctx.obj.rest)}")


def one_inventory(argument: Path | None, flag: Path | None) -> Path | None:
    """Return the inventory, given as an argument or as `-i`, or None. Raises UsageProblem if it is both."""
    if argument and flag:
        from hvdocker.errors import UsageProblem

        raise UsageProblem("an inventory and -i exclude each other")
    return argument or flag


def plan_printer(progress: Progress, is_wanted: bool) -> Callable[[Plan], None]:
    """Return a function that prints a plan on stdout if `is_wanted` (a dry run, or `gc` before it asks).

    Otherwise it does nothing, because progress shows the steps as they are done."""
    from hvdocker.console.style import out
    from hvdocker.console.views.plan import show_plan

    def show(plan: Plan) -> None:
        if is_wanted:
            progress.pause()
            show_plan(out(), plan)

    return show


def hooks_for_verb(env: Env, progress: Progress, located: Located, verb: str, is_skipped: bool) -> Hooks:
    """Return the user's hooks for this verb. Their output goes to stderr line by line."""
    from hvdocker.hooks.hooks import Hooks

    return Hooks(env, located, verb, is_skipped, progress.print_hook_line)


def check_script_flag(is_script: bool, is_dry_run: bool) -> None:
    from hvdocker.errors import UsageProblem

    if is_script and not is_dry_run:
        raise UsageProblem("--script goes with --dry-run")


def preload_imports() -> None:
    """Import what comes after connecting, while the hosts answer. Every verb needs these modules, and they
    are half of the time of all imports."""
    import_module("hvdocker.observe.hosts")
    import_module("hvdocker.plan.apply")


@contextmanager
def env_and_progress(is_quiet: bool = False) -> Iterator[tuple[Env, Progress]]:
    """Yield the Env of a verb and the progress display, which shows its events on stderr during the block."""
    from getpass import getpass

    from hvdocker.console.progress import Progress
    from hvdocker.console.sanitize import sanitized
    from hvdocker.console.style import err
    from hvdocker.env import Env
    from hvdocker.errors import Interrupted

    console = err()
    with Progress(console, is_quiet) as progress:

        def ask(question: str) -> bool:
            progress.pause()
            try:
                return typer.confirm(sanitized(question), default=False, err=True)
            except typer.Abort:
                raise Interrupted("nothing was done") from None

        def ask_secret(question: str) -> str:
            progress.pause()
            try:
                return getpass(f"{sanitized(question)}: ")
            except (KeyboardInterrupt, EOFError):
                raise Interrupted("nothing was done") from None

        is_interactive = sys.stdin.isatty() and sys.stderr.isatty()
        env = Env(
            listener=progress,
            ask=ask,
            ask_secret=ask_secret,
            is_interactive=is_interactive,
            while_connecting=preload_imports,
        )
        yield env, progress
