"""Recognises the file of another tool. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hvdocker.inventory.other_formats.ansible import ansible_entries
from hvdocker.inventory.other_formats.hostfile import hostfile_entries


@dataclass(frozen=True)
class OtherFormat:
    """A file of another tool: the name of its format, and its hosts as entries of `hosts:` in YAML."""

    name: str
    entries: tuple[str, ...]


def other_format(text: str) -> OtherFormat | None:
    """Return the hosts in `text` if it is a file of another tool, else None."""
    lines = [line for line in map(_without_comment, text.splitlines()) if line]
    if entries := hostfile_entries(lines):
        return OtherFormat("a hostfile", entries)
    entries = ansible_entries(text, lines)
    return OtherFormat("an Ansible inventory", entries) if entries else None


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)[#;].*", "", line).strip()
