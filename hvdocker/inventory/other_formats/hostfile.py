"""Reads hostfiles: a host in each line, `gpu-a slots=4` or `gpu-a:4`. Pure.

Open MPI and DeepSpeed write `gpu-a slots=4`, MPICH (Hydra) writes `gpu-a:4`, a PBS node file has a line for each slot,
and `scontrol show hostnames` prints a line for each host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hvdocker.inventory.other_formats.host_entry import HostEntry
from hvdocker.inventory.other_formats.host_pattern import MOST_HOSTS, expand, split_number
from hvdocker.inventory.other_formats.wrong_line import WrongLine

# From this number on, `gpu-a:N` has a port. So has `gpu-a:22`.
LEAST_PORT = 1024
SSH_PORT = 22
# A line of a range counts as one for each host.
MOST_LINES = 100_000

_OPTION = re.compile(r"([A-Za-z_-]+)=([^\s=]+)")
_MEANINGS = {
    **dict.fromkeys(("slots", "cpu", "cpus", "count"), "slots"),
    **dict.fromkeys(("user", "username", "user_name", "user-name"), "user"),
    "port": "port",
    **dict.fromkeys(("max_slots", "max-slots", "slots_max", "slots-max", "binding", "ifname"), ""),
}


@dataclass(frozen=True)
class _Line:
    """One line: a host with its login, the slots that the line names (None if it names none), and what of it an
    inventory cannot say."""

    entry: HostEntry
    slots: int | None
    notes: tuple[str, ...] = ()


def hostfile_hosts(text: str) -> tuple[list[HostEntry], list[str]]:
    """Return the hosts of a hostfile, and notes about what is left out or read in one of two ways. Raise WrongLine if
    a line is something else.

    Slots of a repeated host add up. If any host is repeated, a line without a number counts as one slot, as in a PBS
    node file."""
    lines = (one for number, line in enumerate(text.splitlines(), 1) for one in _lines(number, line))
    found: dict[HostEntry, list[int | None]] = {}
    notes: dict[str, None] = {}
    for count, line in enumerate(lines):
        if count == MOST_LINES or (len(found) == MOST_HOSTS and line.entry not in found):
            notes[f"only the first {count:,} lines are taken"] = None
            break
        found.setdefault(line.entry, []).append(line.slots)
        notes |= dict.fromkeys(line.notes)
    is_counted = any(slots[1:] for slots in found.values())
    hosts = []
    for entry, slots in found.items():
        total = sum(1 if one is None else one for one in slots) if is_counted or slots != [None] else None
        if total == 0:
            notes[f"{entry.host} is left out: it has no slots"] = None
        else:
            hosts.append(replace(entry, slots=str(total or "")))
    return hosts, list(notes)


def _lines(number: int, line: str) -> Iterator[_Line]:
    """Yield a line of the file, one for each host of a range, none for a comment."""
    bare = re.sub(r"^\s*;.*|(^|\s)#.*", "", line).strip()
    if not bare:
        return
    target, *options = re.sub(" ?= ?", "=", " ".join(bare.split())).split()
    user, at, rest = target.rpartition("@")
    split = split_number(rest)
    pairs = [_OPTION.fullmatch(option) for option in options]
    if split is None or (at and not user):
        raise WrongLine(number, line)
    values: dict[str, str] = {}
    notes: list[str] = []
    for pair in pairs:
        if pair is None or pair[1].lower() not in _MEANINGS:
            raise WrongLine(number, line)
        if meaning := _MEANINGS[pair[1].lower()]:
            values[meaning] = pair[2]
        else:
            notes.append(f"{pair[1]} is left out: an inventory has no such key")
    pattern, behind_colon = split
    if behind_colon and "slots" not in values and not _is_port(behind_colon):
        values["slots"] = behind_colon
    elif behind_colon:
        values.setdefault("port", behind_colon)
        notes.append(f"{behind_colon} behind a host is read as its port; slots of that number: gpu-a slots=N")
    slots = values.get("slots")
    if slots is not None and not re.fullmatch("[0-9]{1,9}", slots):
        raise WrongLine(number, line)
    for host in expand(pattern):
        named = values.get("user")
        entry = HostEntry(f"{user}@{host}" if user else host, user=named or "", port=values.get("port", ""))
        yield _Line(entry, None if slots is None else int(slots), tuple(notes))


def _is_port(number: str) -> bool:
    return int(number) == SSH_PORT or int(number) >= LEAST_PORT
