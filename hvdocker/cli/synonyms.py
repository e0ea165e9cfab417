"""Maps words of other tools, such as `ps` or `--nproc`, to verbs and flags of hvdocker, for error messages. Pure."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Sequence

from hvdocker.errors import UsageProblem

_VERBS = {
    "ps": "status",
    "info": "status",
    "start": "up",
    "create": "up",
    "launch": "up",
    "destroy": "down",
    "rm": "down",
    "delete": "down",
    "submit": "train",
    "queue": "jobs",
    "ls": "jobs",
    "list": "jobs",
    "log": "logs",
    "tail": "logs -f",
    "kill": "stop",
    "cancel": "stop",
    "pull": "fetch",
    "get": "fetch",
    "download": "fetch",
    "rerun": "replay",
    "shell": "ssh",
    "login": "ssh",
    "check": "doctor",
    "validate": "config",
    "prune": "gc",
    "clean": "gc",
    "build": "image build",
    "push": "image push",
    "images": "image ls",
}
# Flags of other tools, and flags that have another name here.
_RANKS = ("-n", "-p", "--nproc", "--n", "--num-proc", "--num-processes", "--nprocs", "--ranks", "--gpus", "--slots")
FLAGS = dict.fromkeys(_RANKS, "-np") | {
    "--hosts": "--place",
    "--hostfile": "-i",
    "--host": "--place",
    "--num-gpus": "-np",
    "--background": "--detach",
    "--dryrun": "--dry-run",
    "--retries": "--restarts",
    "--max-retries": "--restarts",
    "--secrets": "--secret",
}


def unknown_verb(word: str, rest: Sequence[str], verbs: Collection[str], command: str = "hvdocker") -> UsageProblem:
    """Return the error for `word`, which is no verb of `command`.

    `command` is `hvdocker` or a verb with subcommands, such as `hvdocker image`. `verbs` are the verbs that it has.
    `rest` are the words after `word`; they are part of the command that the error suggests."""
    meant = (_VERBS.get(word) if command == "hvdocker" else None) or close_word(word, verbs)
    fix = f"{command} -h lists the verbs"
    if meant:
        fix = f"did you mean: {' '.join((command, meant, *map(shlex.quote, rest)))}"
    return UsageProblem(f"there is no verb {word!r}", fix=fix)


def unknown_flag(flag: str, command: str, known: Collection[str]) -> UsageProblem:
    """Return the error for `flag`, which `command` (such as `hvdocker up`) does not have.

    `known` are the flags that the command has."""
    meant = meant_flag(flag, known)
    fix = f"did you mean {meant}? " if meant else ""
    return UsageProblem(f"there is no flag {flag}", fix=f"{fix}see {command} -h")


def meant_flag(flag: str, known: Collection[str]) -> str | None:
    """Return the flag in `known` that the user probably meant by `flag`, or None if none is similar."""
    if FLAGS.get(flag) in known:
        return FLAGS[flag]
    names = {name.lstrip("-"): name for name in known if name.startswith("--")}
    return names.get(close_word(flag.lstrip("-"), names) or "") if flag.startswith("--") else None


def close_word(word: str, known: Collection[str]) -> str | None:
    """Return the word in `known` that is most similar to `word`, as after a typing mistake, or None if none is
    similar."""
    found = difflib.get_close_matches(word, known, n=1, cutoff=0.75)
    return found[0] if found else None
