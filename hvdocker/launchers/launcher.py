"""The protocol that every launcher implements. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hvdocker.protocol.placement import Placement


class Launcher(Protocol):
    """Turns a placement into the command line that starts all ranks, without the command of the user. The
    supervisor adds the network interface and has it start the rank wrapper everywhere."""

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]: ...
