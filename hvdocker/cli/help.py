"""The command `help`: the help of a verb with all its options, or the page of a topic."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import typer

from hvdocker.cli.completers import complete_help
from hvdocker.cli.synonyms import unknown_verb


def show_help(
    ctx: typer.Context,
    words: Annotated[
        Optional[list[str]],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(
            metavar="VERB",
            help="A verb such as train or image build, or a topic.",
            show_default=False,
            autocompletion=complete_help,
        ),
    ] = None,
) -> None:
    """Show the help of a verb with all its options, or of a topic.

      hvdocker help train
      hvdocker help inventory

    Topics are inventory, exit-codes and environment.
    """
    from hvdocker.cli.pages.topics import TOPICS

    named = words or []
    if len(named) == 1 and named[0] in TOPICS:
        print(TOPICS[named[0]]())
        return
    command, inner = _find_command(ctx, named)
    if hasattr(command, "takes_inventory") and not hasattr(command, "commands"):
        from hvdocker.cli.pages.verb_page import verb_page

        print(verb_page(command, inner, is_complete=True), end="")
    else:
        print(inner.get_help())


def _find_command(ctx: Any, words: list[str]) -> tuple[Any, Any]:
    """Return the command that the words name (such as `image build`), and its context.

    Raise UsageProblem if there is no such command. The types are `Any` because they are classes of click that depend on
    typer's version."""
    inner: Any = ctx.find_root()
    command = inner.command
    for word in words:
        if not hasattr(command, "commands"):
            from hvdocker.errors import UsageProblem

            raise UsageProblem(f"{inner.command_path} has no verb {word!r}", fix=f"hvdocker help {words[0]}")
        name, command, _ = command.resolve_command(inner, [word])
        if command is None:
            raise unknown_verb(word, (), inner.command.commands, inner.command_path)
        inner = command.make_context(name, [], parent=inner, resilient_parsing=True)
    return command, inner
