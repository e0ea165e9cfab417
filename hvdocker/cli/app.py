"""The root typer app.

Importing this file imports typer and little else. The file of a verb is imported when the command line names the verb.
The package that does the work of the verb is imported when the verb is called."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker import __version__
from hvdocker.cli.verb_table import VerbGroup

app = typer.Typer(
    name="hvdocker",
    cls=VerbGroup,
    help="Distributed training on your own machines, over SSH and Docker.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _version(value: bool) -> None:
    if value:
        print(f"hvdocker {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("-V", "--version", metavar="", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", metavar="", help="Show tracebacks.")] = False,
) -> None:
    """Distributed training on your own machines, over SSH and Docker."""
