"""Divides the words of a command line into flags with their values, arguments, and flags that the verb does not have.

Error messages use it to suggest the line as it was meant. The parser of typer does not keep the order of the words, and
it separates flags that were typed together. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

INVENTORY_SUFFIXES = (".yaml", ".yml")


class WordKind(Enum):
    """`FLAG`: a flag of the verb or of a launcher, with its values. `UNKNOWN`: another flag, without values.
    `ARGUMENT`: any other word. `INVENTORY`: the argument that is taken for the inventory."""

    FLAG = auto()
    UNKNOWN = auto()
    ARGUMENT = auto()
    INVENTORY = auto()


@dataclass(frozen=True)
class WordGroup:
    """Words that belong together, and the index of the first of them in the line.

    `name` is the flag without its value. `value` is the value of the flag, None if it has none."""

    kind: WordKind
    words: tuple[str, ...]
    at: int
    name: str = ""
    value: str | None = None


def group_words(
    params: Sequence[Any], words: Sequence[str], launcher_flags: Mapping[str, int] | None = None
) -> list[WordGroup]:
    """Return the words of a line in groups. `params` are the parameters of the verb (classes of click that depend on
    typer's version), `launcher_flags` the flags that it passes on, each with its number of values.

    A word that follows an unknown flag may be its value, and so is never taken for the inventory."""
    takes_inventory = any(param.name == "inventory" for param in params)
    groups: list[WordGroup] = []
    has_argument = False
    for group in _grouped(params, words, launcher_flags or {}):
        word = group.words[0]
        is_first = group.kind is WordKind.ARGUMENT and not has_argument
        follows_unknown = bool(groups) and groups[-1].kind is WordKind.UNKNOWN
        if is_first and takes_inventory and word.endswith(INVENTORY_SUFFIXES) and not follows_unknown:
            groups.append(WordGroup(WordKind.INVENTORY, group.words, group.at))
        else:
            groups.append(group)
        has_argument |= is_first and not follows_unknown
    return groups


def option_names(params: Sequence[Any], with_value: bool) -> set[str]:
    """Return the flags among the parameters that take a value, or those that take none."""
    options = [param for param in params if param.param_type_name == "option"]
    return {flag for param in options if bool(param.is_flag) is not with_value for flag in param.opts}


def _grouped(params: Sequence[Any], words: Sequence[str], launcher_flags: Mapping[str, int]) -> Iterator[WordGroup]:
    values, switches = option_names(params, with_value=True), option_names(params, with_value=False)
    at = 0
    while at < len(words):
        word = words[at]
        name, equals, value = word.partition("=")
        start, at = at, at + 1
        if name in values or name in launcher_flags:
            count = launcher_flags.get(name, 1) - len(equals)
            given = (word, *words[at : at + count])
            at += len(given) - 1
            needs = launcher_flags.get(name, 1) > 0
            last = value if equals else given[-1] if len(given) > 1 else None
            yield WordGroup(WordKind.FLAG, given, start, name, last if needs else None)
        elif word in switches:
            yield WordGroup(WordKind.FLAG, (word,), start, word)
        elif word.startswith("--"):
            yield WordGroup(WordKind.UNKNOWN, (word,), start, name, value if equals else None)
        elif word.startswith("-") and len(word) > 1:
            for group in _short_flags(word, start, values, switches):
                if group.name in values and group.value is None and at < len(words):
                    yield replace(group, words=(group.name, words[at]), value=words[at])
                    at += 1
                else:
                    yield group
        else:
            yield WordGroup(WordKind.ARGUMENT, (word,), start)


def _short_flags(word: str, at: int, values: set[str], switches: set[str]) -> Iterator[WordGroup]:
    """Yield the flags that were typed together, as in `-qi FILE`, those that the verb has before the others."""
    unknown = ""
    for place, letter in enumerate(word[1:], 1):
        flag = f"-{letter}"
        if flag in switches:
            yield WordGroup(WordKind.FLAG, (flag,), at, flag)
        elif flag in values:
            rest = word[place + 1 :]
            yield WordGroup(WordKind.FLAG, (flag, rest) if rest else (flag,), at, flag, rest or None)
            break
        else:
            unknown += letter
    if unknown:
        name, equals, value = f"-{unknown}".partition("=")
        yield WordGroup(WordKind.UNKNOWN, (f"-{unknown}",), at, name, value if equals else None)
