"""The command `completion`: prints the script that a shell needs to complete the words of hvdocker."""

from __future__ import annotations

from typing import Annotated

import typer

from hvdocker.cli.completers import choice
from hvdocker.cli.flags.verb import refuse_rest

SHELLS = ("bash", "zsh", "fish")


def completion(
    ctx: typer.Context,
    shell: Annotated[
        str,
        typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False, autocompletion=choice(*SHELLS)),
    ],
) -> None:
    """Print the script that completes commands and flags in a shell.

      hvdocker completion bash

    The line that uses it, and the file for that line:

      eval "$(hvdocker completion bash)"    # bash: ~/.bashrc
      eval "$(hvdocker completion zsh)"     # zsh: ~/.zshrc, after compinit
      hvdocker completion fish | source     # fish: ~/.config/fish/config.fish
    """
    refuse_rest(ctx)
    if shell not in SHELLS:
        from hvdocker.errors import UsageProblem

        raise UsageProblem(f"there is no completion for {shell!r}", fix=f"shells are {', '.join(SHELLS)}")
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # typer does not list its exports

    print(get_completion_script(prog_name="hvdocker", complete_var="_HVDOCKER_COMPLETE", shell=shell))
