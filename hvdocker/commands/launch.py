"""The launcher's words: horovodrun with Gloo, every rank through the rank wrapper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hvdocker.model.placement import Placement


class Launcher(Protocol):
    """Turns a placement into the words that start all ranks; the supervisor adds its own interface."""

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]: ...


class Horovodrun:
    """Gloo is named because probing for it costs seconds; the cache is off because containers change."""

    def __init__(self, start_timeout_s: int = 120, tuning: Sequence[str] = ()) -> None:
        self.start_timeout_s = start_timeout_s
        self.tuning = tuple(tuning)

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]:
        # Addresses, not names: a name that does not resolve to a local address counts as remote.
        hosts = ",".join(f"{addresses[share.host]}:{share.slots}" for share in placement.shares)
        words = ("horovodrun", "-np", str(placement.np), "-H", hosts, "-p", str(port), "--gloo")
        return (*words, "--disable-cache", "--start-timeout", str(self.start_timeout_s), *self.tuning)
