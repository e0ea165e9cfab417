"""The slots of a job on each host, and their form as the label `hvdocker.placement` of its master. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """The slots that a job has on one host. `devices` are the UUIDs of their GPUs (or MIG slices) in local-rank
    order; it is empty if the slots are processor slots, without GPUs."""

    host: str
    slots: int
    devices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placement:
    """The hosts of a job, each with its share (the slots that the job has there). The head comes first. It is the host
    with the smallest share, or the host that the user chose. The others follow in inventory order, then hosts that
    joined the running job."""

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
        """Return the host of each rank at the start of the job: item N is the host of rank N. There are as many items
        as slots."""
        return tuple(share.host for share in self.shares for _ in range(share.slots))

    def devices_on(self, host: str) -> tuple[str, ...]:
        return next((share.devices for share in self.shares if share.host == host), ())

    def label(self) -> str:
        """Return the value of the label `hvdocker.placement`: JSON that maps each host to its device UUIDs, or to its
        number of processor slots, such as `{"a":2,"b":2}`."""
        held = {share.host: list(share.devices) or share.slots for share in self.shares}
        return json.dumps(held, separators=(",", ":"))


def placement_from_label(text: str) -> Placement:
    """Return the placement that `text`, the value of the label `hvdocker.placement`, describes. A damaged label gives
    a placement without shares (without hosts)."""
    try:
        return Placement(tuple(_read_share(str(host), held) for host, held in json.loads(text).items()))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return Placement(())


def _read_share(host: str, held: object) -> Share:
    """Return the share of a host: its slots and devices. `held` is its value in the label: a number of slots, or a
    list of device UUIDs. Raises ValueError if it is neither."""
    if isinstance(held, list):
        return Share(host, len(held), tuple(str(device) for device in held))
    return Share(host, max(0, int(str(held))))
