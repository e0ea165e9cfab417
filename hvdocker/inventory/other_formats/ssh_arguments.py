"""Reads the arguments of ssh that an Ansible variable has, such as `-o ProxyJump=bastion`. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

_WITH_VALUE = "BbcDEeFIiJLlmOoPpQRSWw"
_KEYWORD = re.compile(r"\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.+)", re.DOTALL)
# Options and keywords of ssh that an inventory has a key for.
_OPTIONS = {"J": "jump", "l": "user", "p": "port", "i": "key"}
_KEYWORDS = {"proxyjump": "jump", "user": "user", "port": "port", "identityfile": "key"}


def read_ssh_arguments(text: str) -> tuple[Mapping[str, str], list[str]]:
    """Return what the arguments say, by keys of an inventory's `ssh:`, and the arguments that an inventory has no key
    for. As with ssh, the first value of a key counts. A ProxyCommand that is `ssh -W %h:%p bastion` is a jump."""
    values: dict[str, str] = {}
    left_out: list[str] = []
    options, others = _split_options(_words(text))
    for letter, value in options:
        key, said = _OPTIONS.get(letter), value
        keyword = _KEYWORD.fullmatch(value) if letter == "o" else None
        if keyword:
            key, said = _KEYWORDS.get(keyword[1].lower()), keyword[2].strip()
        if keyword and keyword[1].lower() == "proxycommand":
            jump, rest = _jump_of_command(said)
            left_out += rest
            key, said = ("jump", jump) if jump else (None, said)
        if key:
            values.setdefault(key, said.removeprefix("ssh://") if key == "jump" else said)
        else:
            left_out.append(f"-{letter} {value}".rstrip())
    return values, [*left_out, *others]


def _jump_of_command(command: str) -> tuple[str, list[str]]:
    """Return the jump host of a ProxyCommand and the options of it that are left out, or empty text if the command is
    something else."""
    program, *words = _words(command) or [""]
    options, others = _split_options(words)
    named = dict(options)
    if program.rpartition("/")[2] != "ssh" or named.get("W") != "%h:%p" or len(others) != 1:
        return "", []
    user = f"{named['l']}@" if "l" in named else ""
    port = f":{named['p']}" if "p" in named else ""
    rest = [f"-{letter} {value}".rstrip() for letter, value in options if letter not in "Wlpq"]
    return f"{user}{others[0]}{port}", rest


def _split_options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Split the arguments of ssh into options with their values, and the other words."""
    options: list[tuple[str, str]] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not re.match("-[A-Za-z0-9]", word):
            others.append(word)
            continue
        for index, letter in enumerate(word[1:], 1):
            if letter in _WITH_VALUE:
                options.append((letter, word[index + 1 :] or (rest.pop(0) if rest else "")))
                break
            options.append((letter, ""))
    return options, others


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
