"""The protocol that every launcher implements. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hvdocker.protocol.placement import Placement


class Launcher(Protocol):
    """Turns a placement into the command line that starts all ranks. The command line does not have the user's
    command: the supervisor appends the network interface and the rank wrapper, which runs the user's command on
    every host."""

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]: ...
