"""Functions that most verbs (subcommands) need before their work: the Env, the progress display, hooks, and the printer
of plans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hvdocker.console.progress import Progress
    from hvdocker.env import Env
    from hvdocker.hooks.hooks import Hooks
    from hvdocker.inventory.locate import Located
    from hvdocker.plan.plan import Plan


@dataclass(frozen=True)
class Invocation:
    """What typer keeps in `ctx.obj` for a verb.

    `rest` are the words after `--`; it is None if there is no `--`."""

    rest: tuple[str, ...] | None = None


def plan_printer(progress: Progress, is_wanted: bool) -> Callable[[Plan], None]:
    """Return a function that prints a plan on stdout if `is_wanted` (in a dry run, or in `gc` before it asks).

    Otherwise the function prints nothing, because the progress display shows each step of the plan as it is done."""
    from hvdocker.console.style import out
    from hvdocker.console.views.plan import show_plan

    def show(plan: Plan) -> None:
        if is_wanted:
            progress.pause()
            show_plan(out(), plan)

    return show


def hooks_for_verb(env: Env, progress: Progress, located: Located, verb: str, is_skipped: bool) -> Hooks:
    """Return the user's hooks (programs in .hvdocker/hooks/) for the verb, such as `up`.

    The output of hooks goes to stderr line by line. With `is_skipped` (the flag `--skip-hooks`, or a dry run) no hook
    is run."""
    from hvdocker.hooks.hooks import Hooks

    return Hooks(env, located, verb, is_skipped, progress.print_hook_line)


def preload_imports(also: Sequence[str] = ()) -> None:
    """Import modules that most verbs need after connecting, then the modules named in `also`.

    `Env.while_connecting` runs this while the hosts answer, so that the imports cost no extra time."""
    for module in ("hvdocker.observe.hosts", *also, "hvdocker.plan.apply"):
        import_module(module)


@contextmanager
def env_and_progress(is_quiet: bool = False, preloads: Sequence[str] = ()) -> Iterator[tuple[Env, Progress]]:
    """Yield the Env of a verb (folders, variables, clock, questions) and the progress display.

    The display shows the verb's events on stderr while the `with` block runs. With `is_quiet` no events are shown.
    `preloads` names modules that are imported while the hosts are being connected to."""
    from getpass import getpass

    from hvdocker.console.progress import Progress
    from hvdocker.console.sanitize import sanitized
    from hvdocker.console.style import err
    from hvdocker.env import Env
    from hvdocker.errors import Interrupted

    # Before the display starts: it replaces sys.stderr by an object that rich before 15 says is no terminal.
    is_interactive = sys.stdin.isatty() and sys.stderr.isatty()
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

        env = Env(
            listener=progress,
            ask=ask,
            ask_secret=ask_secret,
            is_interactive=is_interactive,
            while_connecting=partial(preload_imports, preloads),
        )
        yield env, progress
