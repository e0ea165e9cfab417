"""Reads Ansible's inventories in YAML. Pure."""

from __future__ import annotations

from hvdocker.errors import InventoryError
from hvdocker.inventory.other_formats.ansible_groups import AnsibleGroups
from hvdocker.inventory.other_formats.host_pattern import split_number
from hvdocker.inventory.yaml_document import read_yaml

_GROUP_KEYS = {"hosts", "children", "vars"}


def read_ansible_yaml(text: str) -> AnsibleGroups | None:
    """Return the hosts and groups of an inventory in Ansible's YAML format, None if it is something else."""
    try:
        document = read_yaml(text, "")
    except InventoryError:
        return None
    top = _mapping(document.value)
    if not any(isinstance(group, dict) and _is_group(group) for group in top.values()):
        return None
    groups = AnsibleGroups(notes=[f"not read: {problem}" for problem in document.problems])
    for name, group in top.items():
        _add_group(groups, name, group)
    return groups


def _is_group(group: dict[str, object]) -> bool:
    return set(group) <= _GROUP_KEYS and any(isinstance(group.get(key), dict) for key in ("hosts", "children"))


def _add_group(groups: AnsibleGroups, name: str, value: object) -> None:
    group = _mapping(value)
    if value is not None and not isinstance(value, dict):
        groups.notes.append(f"the group {name} is left out: it is not a mapping")
    groups.notes += [f"{name}: {key} is left out: a group has no such key" for key in group if key not in _GROUP_KEYS]
    for key in _GROUP_KEYS & set(group):
        if group[key] is not None and not isinstance(group[key], dict):
            groups.notes.append(f"{name}: {key} is left out: it is not a mapping")
    for child, inner in _mapping(group.get("children")).items():
        groups.children.setdefault(name, {})[child] = None
        _add_group(groups, child, inner)
    if shared := _mapping(group.get("vars")):
        groups.variables.setdefault(name, {}).update(_texts(shared))
    for host, own in _mapping(group.get("hosts")).items():
        pattern, port = split_number(host) or (host, "")
        groups.add_host(name, pattern, {**({"ansible_port": port} if port else {}), **_texts(_mapping(own))})


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _texts(values: dict[str, object]) -> dict[str, str]:
    """Return variables as text. A value that is a list or a mapping becomes empty text: no key of an inventory takes
    one."""
    return {name: str(value) if isinstance(value, (str, int, float)) else "" for name, value in values.items()}
