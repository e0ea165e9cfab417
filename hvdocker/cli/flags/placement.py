"""The flags that select slots, shared by `up`, `train` and `run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hvdocker.cli.completers import complete_host_list, complete_strategies
from hvdocker.cli.flags.panels import WHERE

if TYPE_CHECKING:
    from hvdocker.console.progress import Progress
    from hvdocker.placement.strategies import Explanation

PlaceFlag = Annotated[
    Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
    typer.Option(
        "-H",
        "--place",
        metavar="A:N,B:N",
        help="Exactly so many slots of these hosts: a:2,b:1",
        show_default=False,
        rich_help_panel=WHERE,
    ),
]
StrategyFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--strategy",
        metavar="HOW",
        help="pack (fewest hosts), spread (even shares over all) or balanced (equal shares). Default: pack.",
        show_default=False,
        autocompletion=complete_strategies,
        rich_help_panel=WHERE,
    ),
]
GpuFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--gpu",
        metavar="MODEL[:MEM]",
        help="Only GPUs like this: A100, A100:80GB, 40GB; none: only slots without a GPU.",
        show_default=False,
        rich_help_panel=WHERE,
    ),
]
IncludeFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--include",
        metavar="HOSTS",
        help="Only on these hosts: a,b",
        show_default=False,
        autocompletion=complete_host_list,
        rich_help_panel=WHERE,
    ),
]
ExcludeFlag = Annotated[
    Optional[str],  # noqa: UP045  # as above
    typer.Option(
        "--exclude",
        metavar="HOSTS",
        help="Not on these hosts: a,b",
        show_default=False,
        autocompletion=complete_host_list,
        rich_help_panel=WHERE,
    ),
]
ExplainFlag = Annotated[
    bool,
    typer.Option(
        "--explain", metavar="", help="Show what else was possible, and why it was not chosen.", rich_help_panel=WHERE
    ),
]


def explanation_printer(progress: Progress, is_wanted: bool) -> Callable[[Explanation], None] | None:
    """Return the function that prints on stderr why the slots were chosen. It ends the live table of `progress` first.

    Return None if `is_wanted` (the flag `--explain`) is False. Then no explanation is computed."""
    if not is_wanted:
        return None
    from hvdocker.console.style import err
    from hvdocker.console.views.placement import show_explanation

    def show(explanation: Explanation) -> None:
        progress.pause()
        show_explanation(err(), explanation)

    return show
