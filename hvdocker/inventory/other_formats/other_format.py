"""Recognises a list of hosts in the format of another tool. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hvdocker.inventory.other_formats.ansible import ansible_entries
from hvdocker.inventory.other_formats.hostfile import hostfile_entries


@dataclass(frozen=True)
class OtherFormat:
    """What was read from a file of another tool.

    `name` names the format, such as `a hostfile`. `entries` are its hosts as entries of `hosts:` in YAML."""

    name: str
    entries: tuple[str, ...]


def other_format(text: str) -> OtherFormat | None:
    """Return the format and the hosts of `text`, if it is a hostfile or an Ansible inventory. Otherwise return None."""
    lines = [line for line in map(_without_comment, text.splitlines()) if line]
    if entries := hostfile_entries(lines):
        return OtherFormat("a hostfile", entries)
    entries = ansible_entries(text, lines)
    return OtherFormat("an Ansible inventory", entries) if entries else None


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)[#;].*", "", line).strip()
