"""The command `ssh`: flags. cluster/ssh.py does the work."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hvdocker.cli.completers import complete_hosts
from hvdocker.cli.flags.verb import ClusterFlag, InventoryFlag
from hvdocker.cli.verb_setup import env_and_progress


def ssh(
    ctx: typer.Context,
    host: Annotated[
        str, typer.Argument(help="A host of the inventory.", show_default=False, autocompletion=complete_hosts)
    ],
    machine: Annotated[
        bool, typer.Option("--machine", metavar="", help="On the machine itself, not in its worker.")
    ] = False,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
) -> None:
    """Open a shell in the worker on a host, or on the machine itself.

      hvdocker ssh gpu-a
      hvdocker ssh gpu-a -- nvidia-smi
      hvdocker ssh gpu-a --machine

    Through OpenSSH's own client, with the inventory's user, port, key and
    jump host, and with its exit code. Words after -- are run as they are.
    """
    from hvdocker.cluster.ssh import machine_argv, replace_process, worker_argv
    from hvdocker.inventory.locate import locate

    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    words_for = machine_argv if machine else worker_argv
    with env_and_progress() as (env, _):
        located = locate(env, inventory, cluster)
        words = words_for(env, located, host, ctx.obj.rest or (), has_terminal)
    replace_process(words)
