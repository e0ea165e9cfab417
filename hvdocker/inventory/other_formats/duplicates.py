"""Makes the hosts of another tool's file different from each other, as an inventory needs them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hvdocker.inventory.other_formats.host_entry import HostEntry


def without_duplicates(entries: Sequence[HostEntry]) -> tuple[list[HostEntry], list[str]]:
    """Return each host once, and notes about those that are left out. Ports of one address are hosts of their own,
    with the port in their names."""
    targets: dict[tuple[str, str, str], str] = {}
    names: set[str] = set()
    kept: list[HostEntry] = []
    notes: list[str] = []
    for entry in entries:
        address = entry.host.rpartition("@")[2]
        name = entry.name or address
        target = (address, entry.port or "22", entry.jump)
        if target in targets:
            notes.append(f"{name} is left out: it is the same host as {targets[target]}")
            continue
        if name in names and entry.port:
            name = f"{name}-{entry.port}".replace(":", "-")
            entry = replace(entry, name=name)
        targets[target] = name
        names.add(name)
        kept.append(entry)
    return kept, notes
