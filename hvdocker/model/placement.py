"""Which slots a job gets: a pure choice over what is free."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hvdocker.errors import NotEnoughSlots, UsageProblem
from hvdocker.model.units import count


@dataclass(frozen=True)
class Share:
    """`devices` are the GPUs (or MIG slices) of the ranks on that host, by UUID, in local-rank order; none
    where they are processor slots."""

    host: str
    slots: int
    devices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slots:
    """A host's slots, and how many of them jobs hold now."""

    host: str
    total: int
    held: Mapping[str, int]

    @property
    def free(self) -> int:
        return self.total - sum(self.held.values())


@dataclass(frozen=True)
class Placement:
    """The head comes first: the smallest share, ties in inventory order."""

    shares: tuple[Share, ...]

    @property
    def head(self) -> str:
        return self.shares[0].host

    @property
    def np(self) -> int:
        return sum(share.slots for share in self.shares)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(share.host for share in self.shares)

    def host_of_rank(self) -> tuple[str, ...]:
        return tuple(share.host for share in self.shares for _ in range(share.slots))

    def devices_on(self, host: str) -> tuple[str, ...]:
        return next((share.devices for share in self.shares if share.host == host), ())

    def label(self) -> str:
        held = {share.host: list(share.devices) or share.slots for share in self.shares}
        return json.dumps(held, separators=(",", ":"))


def from_label(text: str) -> Placement:
    try:
        return Placement(tuple(_read_share(str(host), held) for host, held in json.loads(text).items()))
    except (ValueError, AttributeError, TypeError):
        return Placement(())


def _read_share(host: str, held: object) -> Share:
    """A number of slots, or the devices that are held."""
    if isinstance(held, list):
        return Share(host, len(held), tuple(str(device) for device in held))
    return Share(host, int(str(held)))


def place(np: int, slots: Sequence[Slots]) -> Placement:
    """Fewest hosts, then fewest slots left over on them, then inventory order."""
    if np < 1:
        raise UsageProblem(f"-np should be at least 1, got {np}")
    if np > sum(max(0, entry.free) for entry in slots):
        raise _not_enough(np, slots)
    left = np
    shares: dict[str, int] = {}
    # Stable: among equals the inventory's order stays.
    largest_first = sorted((entry for entry in slots if entry.free > 0), key=lambda e: -e.free)
    for index, entry in enumerate(largest_first):
        if entry.free >= left:
            last = _tightest(largest_first[index:], left)
            shares[last.host] = left
            break
        shares[entry.host] = entry.free
        left -= entry.free
    return _head_first(shares, [entry.host for entry in slots])


def _tightest(largest_first: Sequence[Slots], wanted: int) -> Slots:
    """Of those that have room for all of it, the one that keeps the fewest slots over."""
    return min((entry for entry in largest_first if entry.free >= wanted), key=lambda e: e.free)


def place_exactly(wanted: Sequence[Share], np: int | None, slots: Sequence[Slots]) -> Placement:
    """The user's own `-H a:2,b:1`."""
    if len({share.host for share in wanted}) != len(wanted):
        raise UsageProblem("-H names a host twice, perhaps by its name and its address")
    by_host = {entry.host: entry for entry in slots}
    for share in wanted:
        entry = by_host.get(share.host)
        if entry is None:
            raise UsageProblem(
                f"-H names {share.host!r}, which is not in the inventory",
                fix=f"hosts are {', '.join(by_host)}",
            )
        if share.slots > entry.free:
            raise _not_enough(share.slots, [entry])
    total = sum(share.slots for share in wanted)
    if np is not None and np != total:
        raise UsageProblem(f"-np {np} and -H ({total} slots) disagree", fix="leave one of them out")
    return _head_first({share.host: share.slots for share in wanted}, [entry.host for entry in slots])


def parse_hosts_flag(text: str, head: str) -> list[Share]:
    """Horovod's `-H host:slots,...`; `localhost` means the head."""
    shares = []
    for part in text.split(","):
        host, _, count = part.strip().rpartition(":")
        if not host or not count.isdigit() or int(count) < 1:
            raise UsageProblem(f"-H should look like a:2,b:1, got {part!r}")
        shares.append(Share(head if host == "localhost" else host, int(count)))
    if len({share.host for share in shares}) != len(shares):
        raise UsageProblem(f"-H names a host twice: {text}")
    return shares


def _head_first(shares: Mapping[str, int], inventory_order: Sequence[str]) -> Placement:
    in_order = [Share(host, shares[host]) for host in inventory_order if host in shares]
    head = min(in_order, key=lambda share: share.slots)
    return Placement((head, *(share for share in in_order if share is not head)))


def _not_enough(np: int, slots: Sequence[Slots]) -> NotEnoughSlots:
    free = sum(max(0, entry.free) for entry in slots)
    total = sum(entry.total for entry in slots)
    lines = [f"{entry.host}: {entry.free} of {entry.total} free{_holders(entry)}" for entry in slots]
    fix = "ask for fewer with -np, stop a job, or say `slots:` in the inventory"
    return NotEnoughSlots(f"{count(np, 'slot')} wanted, {free} of {total} free", lines=lines, fix=fix)


def _holders(entry: Slots) -> str:
    return "".join(f", {count} held by {job}" for job, count in entry.held.items())
