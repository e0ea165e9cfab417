"""The table of verbs (subcommands): for each verb its module and the first line of its help.

A verb is imported only when the command line names it. So `hvdocker --help` imports no verb and takes no longer than
that of an empty typer program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main


@dataclass(frozen=True)
class Verb:
    """A command of the command line.

    `target` is `module:name` in hvdocker.cli, and names a function or a typer app with subcommands. `help` repeats
    the first line of the command's docstring; a test keeps them equal. `settings` are typer's context settings."""

    target: str
    help: str
    settings: Mapping[str, bool] = field(default_factory=dict)

    def load(self, name: str) -> Any:
        """Import the verb and return its typer command under this name. The type is `Any` because the base class
        depends on typer's version."""
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(f"hvdocker.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            command: Any = typer.main.get_group(found)
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
            alone.command(name, context_settings=dict(self.settings))(found)
            command = typer.main.get_command(alone)
        command.name = name
        return command


VERBS = {
    "demo": Verb("demo:demo", "Train a small example on two workers of this machine, from up to down."),
    "init": Verb("init:init", "Write a commented inventory, with hosts from ~/.ssh/config."),
    "config": Verb("config:config", "Print the inventory as hvdocker understands it, secrets hidden."),
    "doctor": Verb("doctor:doctor", "Find out what stands between these hosts and a training."),
    "up": Verb("up:up", "Bring the cluster up: image, keys and one worker on every host."),
    "status": Verb("status:status", "Show every host's worker and the cluster's jobs."),
    "gpus": Verb("gpus:gpus", "Show every GPU of every host: what it is, what it does, who holds it."),
    "train": Verb(
        "train:train",
        "Train on the cluster: sync the code, run every rank, stream their output.",
        # Typer must accept flags that it does not know: `train` passes flags of the launcher on and refuses others.
        {"allow_extra_args": True, "ignore_unknown_options": True},
    ),
    "run": Verb(
        "run:run",
        "Train on a cluster of its own: up, train, bring home and down in one.",
        {"allow_extra_args": True, "ignore_unknown_options": True},
    ),
    "jobs": Verb("jobs:jobs", "Show the jobs of every cluster on these hosts, and who waits for slots."),
    "logs": Verb("logs:logs", "Print a job's output again; with -f, as it comes."),
    "attach": Verb("attach:attach", "Watch a running job to its end, as if it had been started here."),
    "stop": Verb("stop:stop", "Stop a job: every rank on every host gets SIGTERM, then SIGKILL."),
    "fetch": Verb("fetch:fetch", "Bring a job's outputs and logs home from all its hosts."),
    "replay": Verb("replay:replay", "Run a job again: the same code, command, environment and slots."),
    "diff": Verb("diff:diff", "Say what was different between two jobs."),
    "exec": Verb("exec:execute", "Run a command in the workers, on all hosts at once."),
    "ssh": Verb("ssh:ssh", "Open a shell in the worker on a host, or on the machine itself."),
    "down": Verb("down:down", "Give the machines back: bring outputs home, then remove all that is ours."),
    "gc": Verb("gc:gc", "Give back what nobody uses any more: dead runs, leftovers, old images."),
    "keys": Verb("keys:app", "Replace the keys of the cluster."),
    "lock": Verb("lock:app", "Show who is changing the hosts, and release a dead lock."),
    "image": Verb("image:app", "Build, check, list and push training images."),
    "completion": Verb("completion:completion", "Print the script that completes commands and flags in a shell."),
}


class VerbGroup(typer.core.TyperGroup):
    """The root command. It lists all verbs of VERBS and imports only the verb that the command line names."""

    def __init__(self, **settings: Any) -> None:
        """Add a placeholder for each verb: a command that has only a name and a help line, for `hvdocker --help`.
        `resolve_command` replaces it by the imported verb. `settings` are passed to typer unchanged."""
        super().__init__(**settings)
        for name, verb in VERBS.items():
            self.commands[name] = typer.core.TyperCommand(name, help=verb.help, rich_markup_mode="rich")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the verb that the command line names, and return its name, its command and the other arguments. The
        command is None if click found no name.

        The types are `Any` because they are classes of click that depend on typer's version."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, VERBS[name].load(name) if name else None, rest
