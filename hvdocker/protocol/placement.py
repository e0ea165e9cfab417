"""Which slots a job has, and how a label tells of it."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """`devices` are the GPUs (or MIG slices) of the ranks on that host, by UUID, in local-rank order; none
    where they are processor slots."""

    host: str
    slots: int
    devices: tuple[str, ...] = ()


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
    except (ValueError, AttributeError, TypeError, RecursionError):
        return Placement(())


def _read_share(host: str, held: object) -> Share:
    """A number of slots, or the devices that are held."""
    if isinstance(held, list):
        return Share(host, len(held), tuple(str(device) for device in held))
    return Share(host, max(0, int(str(held))))
