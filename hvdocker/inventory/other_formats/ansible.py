"""Reads Ansible's inventories, in the INI format and in the YAML format. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from hvdocker.errors import InventoryError
from hvdocker.inventory.other_formats.host_entry import Variables, host_entry
from hvdocker.inventory.yaml_document import read_yaml

_MOST_HOSTS = 10_000
_SECTION = re.compile(r"\[([^\[\]\s:]+)(?::(vars|children))?\]")
_HOST_RANGE = re.compile(r"\[([0-9]{1,6}):([0-9]{1,6})\]")
_SSH_VARIABLES = {"user": "ansible_user", "port": "ansible_port", "key": "ansible_ssh_private_key_file"}
_GROUP_KEYS = {"hosts", "children", "vars"}


@dataclass
class _Hosts:
    """The hosts of an Ansible inventory, in the order of the file.

    `found` maps the name of each host to its variables. A host is there once, even if it is in several groups."""

    found: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, name: str, variables: Variables) -> list[str]:
        """Add a host, or all hosts of a range such as `gpu[01:03]`, and return their names.

        `variables` are added to those that a host already has. At most _MOST_HOSTS hosts are kept in all."""
        names = _expanded(name, _MOST_HOSTS - len(self.found))
        for one in names:
            self.found.setdefault(one, {}).update(variables)
        return names


@dataclass
class _Groups:
    """The groups of an Ansible inventory in the INI format.

    The three mappings have, by name of a group, its hosts, the names of the groups in it, and its variables."""

    hosts: dict[str, list[str]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)

    def members(self, group: str) -> list[str]:
        """Return the hosts of a group and of all groups in it, at any depth."""
        reached = [group]
        for one in reached:
            reached += [child for child in self.children.get(one, ()) if child not in reached]
        return [host for one in reached for host in self.hosts.get(one, ())]


def ansible_entries(text: str, lines: list[str]) -> tuple[str, ...]:
    """Return the hosts of an Ansible inventory as entries of `hosts:` in YAML.

    `text` is the file, and `lines` are its lines without comments. The result is empty if the file is no Ansible
    inventory."""
    hosts = _ansible_ini(lines) or _ansible_yaml(text)
    return tuple(_ansible_entry(name, variables) for name, variables in hosts.items())


def _ansible_ini(lines: list[str]) -> dict[str, dict[str, str]]:
    """Return the hosts of an Ansible inventory in the INI format, each with its variables.

    `lines` are the lines of the file without comments. The result is empty if the file has another format."""
    if not any(_SECTION.fullmatch(line) or "ansible_" in line for line in lines):
        return {}
    hosts, groups = _Hosts(), _Groups()
    group, kind = "ungrouped", None
    for line in lines:
        if section := _SECTION.fullmatch(line):
            group, kind = section[1], section[2]
        elif kind == "vars":
            name, _, value = line.partition("=")
            groups.variables.setdefault(group, {})[name.strip()] = value.strip().strip("'\"")
        elif kind == "children":
            groups.children.setdefault(group, []).append(line)
        else:
            name, *words = _words(line)
            if name.endswith(":") or name.startswith(("-", "{")):
                return {}
            variables = dict(word.split("=", 1) for word in words if "=" in word)
            groups.hosts.setdefault(group, []).extend(hosts.add(name, variables))
    # The variables of a small group have precedence over those of a group around it.
    for group in sorted(groups.variables, key=lambda group: (group == "all", len(groups.members(group)))):
        for host in hosts.found if group == "all" else groups.members(group):
            hosts.found[host] = {**groups.variables[group], **hosts.found[host]}
    return hosts.found


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line) or [line]
    except ValueError:
        return line.split()


def _ansible_yaml(text: str) -> dict[str, dict[str, str]]:
    """Return the hosts of an Ansible inventory in the YAML format, each with its variables.

    The result is empty if `text` has another format."""
    try:
        value = read_yaml(text, "").value
    except InventoryError:
        return {}
    groups = list(value.values()) if isinstance(value, dict) else []
    if not any(isinstance(group, dict) and _is_ansible_group(group) for group in groups):
        return {}
    hosts = _Hosts()
    for group in groups:
        for name, variables in _group_hosts(group, {}):
            hosts.add(name, variables)
    return hosts.found


def _is_ansible_group(group: dict[str, object]) -> bool:
    return set(group) <= _GROUP_KEYS and any(isinstance(group.get(key), dict) for key in ("hosts", "children"))


def _group_hosts(group: object, inherited: Variables) -> Iterator[tuple[str, Variables]]:
    """Yield the name and the variables of each host of a YAML group, and of the groups in it.

    `inherited` are the variables of the groups around it. The variables of the host itself have precedence."""
    if not isinstance(group, dict):
        return
    variables = {**inherited, **_texts(group.get("vars"))}
    for child in _mapping(group.get("children")).values():
        yield from _group_hosts(child, variables)
    for name, own in _mapping(group.get("hosts")).items():
        yield name, {**variables, **_texts(own)}


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> dict[str, str]:
    return {name: str(one) for name, one in _mapping(value).items() if isinstance(one, (str, int))}


def _expanded(name: str, most: int) -> list[str]:
    """Return the host names that an Ansible range stands for: `gpu[01:03]` gives gpu01, gpu02, gpu03.

    A name without a range is returned alone. At most `most` names are returned."""
    found = _HOST_RANGE.search(name)
    if not found:
        return [name][:most]
    first, last = int(found[1]), int(found[2])
    numbers = range(first, min(last, first + most - 1) + 1)
    width = len(found[1])
    return [f"{name[: found.start()]}{number:0{width}}{name[found.end() :]}" for number in numbers]


def _ansible_entry(name: str, variables: Variables) -> str:
    user = variables.get("ansible_user") or variables.get("ansible_ssh_user")
    host = variables.get("ansible_host") or variables.get("ansible_ssh_host") or name
    known = {**variables, **({"ansible_user": user} if user else {})}
    ssh = {key: known[variable] for key, variable in _SSH_VARIABLES.items() if known.get(variable)}
    values = {"host": host, **({"name": name} if host != name else {})}
    if slots := variables.get("slots"):
        values["slots"] = slots
    return host_entry(values, ssh)
