"""Turns the hosts of Ansible's inventories, in INI and in YAML, into entries of `hosts:`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hvdocker.inventory.fields import NAME_PATTERN
from hvdocker.inventory.other_formats.ansible_groups import AnsibleGroups
from hvdocker.inventory.other_formats.host_entry import HostEntry
from hvdocker.inventory.other_formats.ssh_arguments import read_ssh_arguments

# The variables that an inventory has a key for. The first that is set counts.
_VARIABLES = {
    "host": ("ansible_host", "ansible_ssh_host"),
    "user": ("ansible_user", "ansible_ssh_user"),
    "port": ("ansible_port", "ansible_ssh_port"),
    "key": ("ansible_ssh_private_key_file", "ansible_private_key_file"),
    "slots": ("slots",),
}
# In the order in which Ansible gives them to ssh, for which the first value counts.
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_READ = {*_ARGUMENTS, *(name for names in _VARIABLES.values() for name in names)}
_OWN_GROUPS = ("all", "ungrouped")


def ansible_hosts(groups: AnsibleGroups) -> tuple[list[HostEntry], list[str]]:
    """Return the hosts of an Ansible inventory, and notes about what of it is left out."""
    notes = list(groups.notes)
    hosts = []
    unread: dict[str, None] = {}
    for name, variables in groups.host_variables().items():
        unread |= dict.fromkeys(one for one in variables if one not in _READ)
        if (entry := _entry(name, variables, notes)).slots == "0":
            notes.append(f"{name} is left out: it has no slots")
        else:
            hosts.append(entry)
    if unread:
        notes.append(f"variables are left out: {', '.join(unread)}")
    named = dict.fromkeys((*groups.members, *groups.children, *groups.variables))
    if own := [group for group in named if group not in _OWN_GROUPS]:
        notes.append(f"groups are left out, their hosts are not: {', '.join(own)}")
    return hosts, list(dict.fromkeys(notes))


def _entry(name: str, variables: Mapping[str, str], notes: list[str]) -> HostEntry:
    known = {}
    for variable, value in variables.items():
        if variable in _READ and "{{" in value:
            notes.append(f"{variable} of {name} is left out: only Ansible can fill in {value}")
        elif variable in _READ:
            known[variable] = value
    values = {key: value for key, names in _VARIABLES.items() if (value := _first(known, names))}
    for variable in _ARGUMENTS:
        said, left_out = read_ssh_arguments(known.get(variable, ""))
        values = {**said, **values}
        notes += [f"{word} of {variable} is left out; ~/.ssh/config may say it" for word in left_out]
    host = values.pop("host", name)
    if host != name and re.fullmatch(NAME_PATTERN, name):
        values["name"] = name
    elif host != name:
        notes.append(f"the name {name} is left out: an inventory cannot have it")
    return HostEntry(host, **values)


def _first(variables: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((variables[name] for name in names if variables.get(name)), "")
