"""The words that a shell offers after TAB for flags and arguments of verbs: hosts, jobs, strategies, launchers, images.

Only files of this machine are read; no host is contacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from hvdocker.inventory.locate import Located

_YAML = (".yaml", ".yml")
Completer = Callable[[typer.Context, str], list[str]]


def complete_hosts(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the hosts of the inventory that begin with `incomplete`."""
    located = _locate(ctx)
    return _starting(incomplete, [host.name for host in located.inventory.hosts] if located else [])


def complete_host_list(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return completions for a list of hosts such as `a,b`: the last part is completed with hosts of the inventory."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{host}" for host in complete_hosts(ctx, last) if host not in before.split(",")]


def complete_jobs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the jobs that begin with `incomplete` and have a folder in .hvdocker/jobs, the newest first."""
    located = _locate(ctx)
    if located is None or not located.jobs.is_dir():
        return []
    folders = [path for path in located.jobs.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return _starting(incomplete, [path.name for path in sorted(folders, key=_changed, reverse=True)])


def complete_strategies(ctx: typer.Context, incomplete: str) -> list[str]:
    from hvdocker.placement.slots import STRATEGIES

    return _starting(incomplete, STRATEGIES)


def complete_launchers(ctx: typer.Context, incomplete: str) -> list[str]:
    from hvdocker.launchers import NAMES

    return _starting(incomplete, NAMES)


def complete_images(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the short names of hvdocker's own images that begin with `incomplete`.

    They are also the targets of `image build`."""
    from hvdocker.names import SHORT_IMAGE_NAMES

    return _starting(incomplete, SHORT_IMAGE_NAMES)


def complete_help(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the verbs and topics of `hvdocker help`, and after a verb such as `image` its subcommands."""
    from hvdocker.cli.pages.topics import TOPICS
    from hvdocker.cli.verb_table import VERBS

    if words := ctx.params.get("words"):
        command = VERBS[words[0]].load(words[0]) if len(words) == 1 and words[0] in VERBS else None
        return _starting(incomplete, getattr(command, "commands", ()))
    return _starting(incomplete, [*VERBS, *TOPICS])


def choice(*words: str) -> Completer:
    """Return a completer that offers those of `words` that begin with the incomplete word."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        return _starting(incomplete, words)

    return complete


def inventory_files(incomplete: str) -> list[str]:
    """Return the YAML files whose path begins with `incomplete`.

    If the result is empty, the shell completes file names itself."""
    folder, slash, start = incomplete.rpartition("/")
    try:
        entries = sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):
        return []
    return [f"{folder}{slash}{path.name}" for path in entries if path.suffix in _YAML and path.name.startswith(start)]


def completion_item(word: str) -> Any:
    """Return a word as the class that the shells' scripts expect.

    The class is from click. Some versions of typer contain a copy of click, others need click itself."""
    try:
        module = import_module("typer._click.shell_completion")
    except ImportError:
        module = import_module("click.shell_completion")
    return module.CompletionItem(word)


def _starting(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _locate(ctx: typer.Context) -> Located | None:
    """Return the inventory that the incomplete command line names, else the current inventory.

    Return None if there is none, or if it is not valid: completion prints no errors."""
    from hvdocker.env import Env
    from hvdocker.errors import HvdockerError
    from hvdocker.inventory.locate import locate_past

    named = ctx.params.get("inventory")
    try:
        return locate_past(Env(), Path(named) if named else None)
    except (HvdockerError, OSError):
        return None
