"""Reads Ansible's inventories in INI. Pure."""

from __future__ import annotations

import re
import shlex

from hvdocker.inventory.other_formats.ansible_groups import AnsibleGroups
from hvdocker.inventory.other_formats.host_pattern import split_number
from hvdocker.inventory.other_formats.wrong_line import WrongLine

_SECTION = re.compile(r"\[([^\[\]\s:]+)(?::(vars|children))?\]\s*(?:#.*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMENTS = ("#", ";")


def looks_like_ini(text: str) -> bool:
    return any(_SECTION.fullmatch(line.strip()) or "ansible_" in line for line in text.splitlines())


def read_ansible_ini(text: str) -> AnsibleGroups:
    """Return the hosts and groups of an inventory in Ansible's INI format. Raise WrongLine if a line is something
    else."""
    groups = AnsibleGroups()
    group, kind = "ungrouped", None
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith(_COMMENTS):
            continue
        if section := _SECTION.fullmatch(bare):
            group, kind = section[1], section[2]
        elif kind == "vars":
            name, equals, value = bare.partition("=")
            if not equals or not _VARIABLE.fullmatch(name.strip()):
                raise WrongLine(number, line)
            groups.variables.setdefault(group, {})[name.strip()] = _value(value.strip())
        elif kind == "children":
            child = bare.partition("#")[0].rstrip()
            if re.search(r"[\s=:\[\]]", child):
                raise WrongLine(number, line)
            groups.children.setdefault(group, {})[child] = None
        else:
            _add_host(groups, group, bare, number)
    return groups


def _add_host(groups: AnsibleGroups, group: str, line: str, number: int) -> None:
    try:
        target, *words = shlex.split(line, comments=True)
    except ValueError as error:
        raise WrongLine(number, line) from error
    split = split_number(target)
    pairs = [word.partition("=") for word in words]
    if split is None or not all(equals and _VARIABLE.fullmatch(name) for name, equals, _ in pairs):
        raise WrongLine(number, line)
    pattern, port = split
    groups.add_host(
        group, pattern, {**({"ansible_port": port} if port else {}), **{name: value for name, _, value in pairs}}
    )


def _value(text: str) -> str:
    """Return the value of a variable of a group: without quotes around it, or without a comment behind it."""
    if found := re.fullmatch(r"(['\"])(.*?)\1\s*(?:#.*)?", text):
        return found[2]
    return re.split(r"\s#", text, maxsplit=1)[0].rstrip()
