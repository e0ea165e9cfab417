"""Reads hostfiles of MPI, Horovod and DeepSpeed: a host in each line, `gpu-a slots=4` or `gpu-a:4`. Pure."""

from __future__ import annotations

import re

from hvdocker.inventory.other_formats.host_entry import host_entry

_HOSTFILE_LINE = re.compile(
    r"((?:[^\s@:=]+@)?[A-Za-z0-9_][A-Za-z0-9_.-]*)(?::([0-9]{1,4}))?((?:\s+(?:slots|max[_-]slots)\s*=\s*[0-9]{1,4})*)"
)
_SLOTS = re.compile(r"(?<![_-])slots\s*=\s*([0-9]+)")


def hostfile_entries(lines: list[str]) -> tuple[str, ...]:
    """Return the hosts of a hostfile as entries of `hosts:` in YAML.

    `lines` are its lines without comments. The result is empty if a line does not fit this format. If a host is in
    several lines, its slots are added up."""
    slots: dict[str, int] = {}
    for line in lines:
        found = _HOSTFILE_LINE.fullmatch(line)
        if not found:
            return ()
        named = found[2] or next(iter(_SLOTS.findall(found[3])), "0")
        slots[found[1]] = slots.get(found[1], 0) + int(named)
    return tuple(
        host_entry({"host": host, **({"slots": str(count)} if count else {})}) for host, count in slots.items()
    )
