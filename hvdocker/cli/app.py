"""The command tree. Importing it costs typer and nothing else: verbs import their ops when called."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker import __version__
from hvdocker.cli import down, fetch, image, logs, status, stop, train, up

app = typer.Typer(
    name="hvdocker",
    help="Distributed training on a handful of Docker hosts, over SSH.",
    epilog="Exit codes: 0 ok, 1 error, 2 usage, 3 host unfit, 4 host unreachable, "
    "6 too few slots, 100 job failed, 103 job stopped by someone else, 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _version(value: bool) -> None:
    if value:
        print(f"hvdocker {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", metavar="", help="Show tracebacks.")] = False,
) -> None:
    """Distributed training on a handful of Docker hosts, over SSH.

    [bold]hvdocker up inventory.yaml[/] · [bold]hvdocker train train.py -np 2[/] · [bold]hvdocker down[/]
    """


app.command("up")(up.up)
app.command("status")(status.status)
# What typer does not know is looked at by `train` itself: Horovod's tuning flags are passed on.
app.command("train", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(train.train)
app.command("logs")(logs.logs)
app.command("stop")(stop.stop)
app.command("fetch")(fetch.fetch)
app.command("down")(down.down)
app.add_typer(image.app, name="image")
