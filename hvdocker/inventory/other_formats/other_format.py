"""Recognises a list of hosts in the format of another tool. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.inventory.other_formats.ansible import ansible_hosts
from hvdocker.inventory.other_formats.ansible_ini import looks_like_ini, read_ansible_ini
from hvdocker.inventory.other_formats.ansible_yaml import read_ansible_yaml
from hvdocker.inventory.other_formats.duplicates import without_duplicates
from hvdocker.inventory.other_formats.host_entry import HostEntry
from hvdocker.inventory.other_formats.hostfile import hostfile_hosts
from hvdocker.inventory.other_formats.not_hosts import kind_by_name, kind_by_text
from hvdocker.inventory.other_formats.wrong_line import WrongLine


@dataclass(frozen=True)
class OtherFormat:
    """A file of another tool: the name of its format, its hosts, and notes for the user about what of it an inventory
    does not get."""

    name: str
    hosts: tuple[HostEntry, ...]
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """The hosts as entries of `hosts:` in YAML."""
        return tuple(host.yaml() for host in self.hosts)


def other_format(text: str, file_name: str = "") -> OtherFormat | None:
    """Return the hosts in `text` if it is a file of another tool, else None. `file_name` is the name of the file
    without folders: a requirements file that has names only is told from a hostfile by it."""
    text = text.removeprefix("\ufeff")
    if kind_by_name(file_name):
        return None
    try:
        hosts, notes = hostfile_hosts(text)
        name = "a hostfile"
    except WrongLine:
        found = _ansible(text)
        if not found:
            return None
        (hosts, notes), name = found, "an Ansible inventory"
    if not hosts and not notes:
        return None
    hosts, duplicates = without_duplicates(hosts)
    return OtherFormat(name, tuple(hosts), (*notes, *duplicates))


@dataclass(frozen=True)
class NoHosts:
    """Why a file is not read: what it is (`a Compose file`) and the first line that is no host (`line 3: …`). Each is
    empty if it is not known."""

    kind: str
    line: str


def explain_no_hosts(text: str, file_name: str) -> NoHosts:
    """Say why `other_format` returns None."""
    text = text.removeprefix("\ufeff")
    if kind := kind_by_name(file_name) or kind_by_text(text):
        return NoHosts(kind, "")
    try:
        (read_ansible_ini if looks_like_ini(text) else hostfile_hosts)(text)
    except WrongLine as wrong:
        return NoHosts("", str(wrong))
    return NoHosts("", "")


def _ansible(text: str) -> tuple[list[HostEntry], list[str]] | None:
    groups = None
    if looks_like_ini(text):
        try:
            groups = read_ansible_ini(text)
        except WrongLine:
            groups = None
    groups = groups or read_ansible_yaml(text)
    return ansible_hosts(groups) if groups and groups.hosts else None
