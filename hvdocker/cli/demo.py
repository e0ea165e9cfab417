"""The command `demo`: flags and output. demo/demo.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.verb import refuse_rest


def demo(
    ctx: typer.Context,
    folder: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="The folder for its files and its model. Default: hvdocker-demo", show_default=False),
    ] = None,
) -> None:
    """Train a small example on two workers of this machine, from up to down.

      hvdocker demo

    It needs a Docker engine on this machine, no GPU. The first time it also
    needs the network, for a small image with JAX, and takes some minutes;
    later it takes less than one.

    It runs up, train, fetch and down in FOLDER, and shows each command before
    it runs. Where one fails, or on Ctrl-C, its cluster is taken down. Images
    and FOLDER, with the model, stay. A FOLDER that has a cluster is refused.
    """
    refuse_rest(ctx)
    from hvdocker.console.style import err, out
    from hvdocker.console.views.demo import show_next, show_result, show_step
    from hvdocker.demo.demo import DEFAULT_FOLDER
    from hvdocker.demo.demo import demo as run
    from hvdocker.demo.local_workers import has_local_workers
    from hvdocker.demo.own_command import OwnCommands
    from hvdocker.env import Env

    folder = folder or DEFAULT_FOLDER
    env = Env()
    commands = OwnCommands(folder, env.environ)
    with commands.passing_signals_on():
        report = run(folder, commands, lambda step: show_step(err(), step), lambda: has_local_workers(env, folder))
    show_result(out(), report)
    show_next(err(), report)
