"""Flags that `train` and `run` pass on to the launcher, such as `--max-restarts`. Unknown flags are errors. Pure.

The command line is split before the launcher of the job is known, because the image may decide it. So the flags of all
launchers are known here; `Launcher.check_flags` refuses those of another launcher later."""

from __future__ import annotations

import difflib

from hvdocker.errors import UsageProblem
from hvdocker.launchers import LAUNCHERS

# Flag → number of values. A flag that several launchers take has the same number in each.
PASSED_FLAGS = {flag: count for launcher in LAUNCHERS for flag, count in launcher.flags.items()}

_OWN_FLAGS = (
    "--env", "--workdir", "--detach", "--dry-run", "--inventory", "--start-timeout", "--min-np", "--max-np",
    "--restarts", "--hang-after", "--on-hang", "--propagate-exit", "--launcher", "--fail-fast",
)  # fmt: skip
_AFTER_DASHES = "the script's own arguments go after --"


def split_passed_flags(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split `words`, the part of the command line that typer did not parse, into plain words (such as the script), and
    flags for the launcher with their values. `--flag=value` becomes two words.

    Raises UsageProblem for an unknown flag, and names a known one that is similar. Also raises it if a flag lacks its
    value, or has a value that it does not take."""
    positional: list[str] = []
    passed: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word.startswith("--"):
            passed += _flag(word, queue)
        else:
            positional.append(word)
    return positional, tuple(passed)


def refuse_unknown_words(words: list[str]) -> None:
    """Raise UsageProblem if `words` is not empty. The caller passes the words of the command line that are neither the
    script nor a known flag. The message says that arguments of the script go after `--`."""
    if words:
        raise UsageProblem(f"what is {words[0]!r}?", fix=f"{_AFTER_DASHES}: train train.py -- …")


def _flag(word: str, queue: list[str]) -> list[str]:
    name, equals, value = word.partition("=")
    if name not in PASSED_FLAGS:
        close = difflib.get_close_matches(name, [*PASSED_FLAGS, *_OWN_FLAGS], n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageProblem(f"there is no flag {name}", fix=hint + _AFTER_DASHES)
    count = PASSED_FLAGS[name]
    if not count and equals:
        raise UsageProblem(f"{name} takes no value")
    values = [value] if equals else []
    while len(values) < count:
        if not queue or queue[0].startswith("--"):
            needed = "a value" if count == 1 else f"{count} values"
            raise UsageProblem(f"{name} needs {needed}")
        values.append(queue.pop(0))
    return [name, *values]
