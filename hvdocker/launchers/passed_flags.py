"""Flags that `train` and `run` pass on to the launcher, such as `--max-restarts`. Pure.

The command line is split before the launcher of the job is known, because the image may decide the launcher. So the
flags of all launchers are accepted here. `Launcher.check_flags` later refuses flags that belong to another launcher."""

from __future__ import annotations

from hvdocker.errors import UsageProblem
from hvdocker.launchers import LAUNCHERS

# Flag → number of values. A flag that several launchers take has the same number in each.
PASSED_FLAGS = {flag: count for launcher in LAUNCHERS for flag, count in launcher.flags.items()}


def split_passed_flags(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split `words`, the part of the command line that typer did not parse, into two parts. The first part has the
    words that are not for the launcher, such as the script. The second part has the flags for launchers with their
    values; a word `--flag=value` becomes two words.

    Raise UsageProblem if a flag for a launcher lacks a value, or if it takes no value and is given one."""
    others: list[str] = []
    passed: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word.partition("=")[0] in PASSED_FLAGS:
            passed += _flag(word, queue)
        else:
            others.append(word)
    return others, tuple(passed)


def _flag(word: str, queue: list[str]) -> list[str]:
    name, equals, value = word.partition("=")
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
