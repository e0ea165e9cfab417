"""The command `exec`: flags, output and exit code. cluster/exec.py does the work."""

from __future__ import annotations

import shlex
from typing import Annotated, Optional

import typer

from hvdocker.cli.completers import complete_hosts
from hvdocker.cli.flags.verb import ClusterFlag, ForceFlag, InventoryFlag
from hvdocker.cli.synonyms import unknown_flag
from hvdocker.cli.typed_words import WordKind, group_words
from hvdocker.cli.verb_command import TYPED
from hvdocker.cli.verb_setup import env_and_progress


def execute(
    ctx: typer.Context,
    hosts: Annotated[
        Optional[list[str]],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Option(
            "--host",
            metavar="H",
            help="Only on this host; may be repeated.",
            show_default=False,
            autocompletion=complete_hosts,
        ),
    ] = None,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    force: ForceFlag = False,
) -> None:
    """Run a command in the workers, on all hosts at once.

      hvdocker exec -- nvidia-smi -L
      hvdocker exec --host a -- sh -c 'du -sh /data/*'

    In /train, as the containers' own user, without standard input. Of one
    host the exit code is the command's; of several it is 1 where any failed.
    Ctrl-C ends the command on the hosts too.
    """
    from hvdocker.cluster.exec import execute as run
    from hvdocker.console.style import err, out
    from hvdocker.console.views.exec_output import HostView
    from hvdocker.errors import UsageProblem
    from hvdocker.inventory.locate import locate
    from hvdocker.inventory.select_hosts import named_hosts_or_all

    argv = ctx.obj.rest or ()
    if ctx.args and ctx.args[0].startswith("-"):
        raise unknown_flag(ctx.args[0], ctx.command_path, [flag for param in ctx.command.params for flag in param.opts])
    if ctx.args or not argv:
        groups = group_words(ctx.command.params, ctx.meta[TYPED])
        own = [word for group in groups if group.kind in (WordKind.FLAG, WordKind.INVENTORY) for word in group.words]
        words = [*ctx.args, *argv] or ["nvidia-smi", "-L"]
        line = shlex.join([*ctx.command_path.split(), *own, "--", *words])
        raise UsageProblem("what should be run goes after --", fix=line)
    with env_and_progress() as (env, progress):
        located = locate(env, inventory, cluster)
        view = HostView(out(), err(), named_hosts_or_all(located.inventory, hosts or ()))

        def show(host: str, line: str, is_error: bool) -> None:
            progress.pause()
            view(host, line, is_error)

        report = run(env, located, argv, hosts or (), show, force)
    report.raise_errors()
    if report.code:
        raise typer.Exit(report.code)
