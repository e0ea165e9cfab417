"""The table of verbs (subcommands): for each verb its module and its texts for the help.

A verb is imported only when the command line names it. So `hvdocker --help` imports no verb, and takes no longer than
the help of an empty typer program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

from hvdocker.cli.verb_command import GroupCommand, VerbCommand


@dataclass(frozen=True)
class Verb:
    """A verb in the table.

    `target` is `module:name` in hvdocker.cli, and names a function or a typer app with subcommands. `help` repeats the
    first line of the command's docstring; a test keeps them equal. `group` is the heading under which `hvdocker -h`
    lists the verb, and `short` its text there. `words` is the part of the usage line that names what the command takes
    besides options. `settings` are typer's context settings."""

    target: str
    help: str
    group: str
    short: str
    words: str = ""
    settings: Mapping[str, bool] = field(default_factory=dict)

    def load(self, name: str) -> Any:
        """Import the verb, and return it as a typer command with the name `name`.

        The type is `Any` because the base class depends on typer's version."""
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(f"hvdocker.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            command: Any = typer.main.get_group(found)
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            metavar = f"[OPTIONS] {self.words}".rstrip()
            alone.command(name, cls=VerbCommand, context_settings=dict(self.settings), options_metavar=metavar)(found)
            command = typer.main.get_command(alone)
        command.name = name
        return command


_PREPARE, _CLUSTER, _TRAIN, _JOBS, _INSIDE, _KEEP = "Prepare", "Cluster", "Train", "Jobs", "Inside", "Keep"
_ARGUMENTS = "[-- ARGUMENTS]"
# Typer must accept flags that it does not know: train and run pass flags of the launcher on, and exec names the command
# that was typed without `--`. They refuse other flags themselves.
_PASSES_FLAGS = {"allow_extra_args": True, "ignore_unknown_options": True}

# The verbs in the order of `hvdocker -h`.
VERBS = {
    "demo": Verb(
        "demo:demo",
        "Train a small example on two workers of this machine, from up to down.",
        _PREPARE,
        "train a small example here",
    ),
    "init": Verb(
        "init:init", "Write a commented inventory, with hosts from ~/.ssh/config.", _PREPARE, "write an inventory"
    ),
    "doctor": Verb(
        "doctor:doctor", "Find out what stands between these hosts and a training.", _PREPARE, "check the hosts"
    ),
    "config": Verb(
        "config:config",
        "Print the inventory as hvdocker understands it, secrets hidden.",
        _PREPARE,
        "show every setting",
    ),
    "image": Verb("image:app", "Build, check, list and push training images.", _PREPARE, "build, check, send images"),
    "up": Verb(
        "up:up", "Bring the cluster up: image, keys and one worker on every host.", _CLUSTER, "start a worker per host"
    ),
    "status": Verb("status:status", "Show every host's worker and the cluster's jobs.", _CLUSTER, "workers and jobs"),
    "down": Verb(
        "down:down",
        "Give the machines back: bring outputs home, then remove all that is ours.",
        _CLUSTER,
        "fetch outputs, remove all",
    ),
    "gpus": Verb(
        "gpus:gpus",
        "Show every GPU of every host: what it is, what it does, who holds it.",
        _CLUSTER,
        "every GPU, who holds it",
    ),
    "train": Verb(
        "train:train",
        "Train on the cluster: sync the code, run every rank, stream their output.",
        _TRAIN,
        "run a script on all hosts",
        _ARGUMENTS,
        _PASSES_FLAGS,
    ),
    "run": Verb(
        "run:run",
        "Train on a cluster of its own: up, train, bring home and down in one.",
        _TRAIN,
        "up, train, down in one",
        _ARGUMENTS,
        _PASSES_FLAGS,
    ),
    "replay": Verb(
        "replay:replay", "Run a job again: the same code, command, environment and slots.", _TRAIN, "run a job again"
    ),
    "diff": Verb("diff:diff", "Say what was different between two jobs.", _TRAIN, "compare two jobs"),
    "jobs": Verb(
        "jobs:jobs",
        "Show the jobs of every cluster on these hosts, and who waits for slots.",
        _JOBS,
        "list jobs and the queue",
    ),
    "logs": Verb("logs:logs", "Print a job's output again; with -f, as it comes.", _JOBS, "print its output, or -f"),
    "attach": Verb(
        "attach:attach",
        "Watch a running job to its end, as if it had been started here.",
        _JOBS,
        "watch it to its end",
    ),
    "stop": Verb("stop:stop", "Stop a job: every rank on every host gets SIGTERM, then SIGKILL.", _JOBS, "stop it"),
    "fetch": Verb(
        "fetch:fetch", "Bring a job's outputs and logs home from all its hosts.", _JOBS, "bring its outputs home"
    ),
    "exec": Verb(
        "exec:execute",
        "Run a command in the workers, on all hosts at once.",
        _INSIDE,
        "a command in all workers",
        "-- COMMAND",
        _PASSES_FLAGS,
    ),
    "ssh": Verb(
        "ssh:ssh",
        "Open a shell in the worker on a host, or on the machine itself.",
        _INSIDE,
        "a shell on a host",
        "[-- COMMAND]",
    ),
    "gc": Verb(
        "gc:gc", "Give back what nobody uses any more: dead runs, leftovers, old images.", _KEEP, "remove leftovers"
    ),
    "keys": Verb("keys:app", "Replace the keys of the cluster.", _KEEP, "replace the keys"),
    "lock": Verb(
        "lock:app", "Show who is changing the hosts, and release a dead lock.", _KEEP, "who changes the hosts"
    ),
    "completion": Verb(
        "completion:completion",
        "Print the script that completes commands and flags in a shell.",
        _KEEP,
        "for your shell",
    ),
}
# `help` is not under a heading: the end of the page of `hvdocker -h` names it.
_HELP = Verb("help:show_help", "Show the help of a verb with all its options, or of a topic.", "", "")


class VerbGroup(GroupCommand):
    """The root command. It lists all verbs of VERBS and imports only the verb that the command line names."""

    def __init__(self, **settings: Any) -> None:
        """Add a placeholder for each verb: a command that has only a name and a help line, for completion.
        `resolve_command` replaces it by the imported verb. `settings` are passed to typer unchanged."""
        super().__init__(**settings)
        for name, verb in {**VERBS, "help": _HELP}.items():
            self.commands[name] = typer.core.TyperCommand(name, help=verb.help, rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the verb that the command line names, and return its name, its typer command and the other arguments.

        For a word that is no verb, raise UsageProblem. While a shell completes words, return None as command instead.
        The types are `Any` because they are classes of click that depend on typer's version."""
        name, command, rest = super().resolve_command(ctx, args)
        verb = _HELP if name == "help" else VERBS.get(name)
        return name, verb.load(name) if verb else command, rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from hvdocker.cli.pages.root_page import root_page
        from hvdocker.cli.pages.topics import TOPICS

        groups: dict[str, list[tuple[str, str]]] = {}
        for name, verb in VERBS.items():
            groups.setdefault(verb.group, []).append((name, verb.short))
        formatter.write(root_page(groups, TOPICS))
