"""The protocol that the class of every launcher (a program such as horovodrun that starts the ranks) implements.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hvdocker.protocol.placement import Placement


class Launcher(Protocol):
    """Builds the command line of one launcher: `argv` returns the command line that starts all ranks of a placement.

    `addresses` has the training address of each host, and `port` is the SSH port of the workers. The command line does
    not contain the user's command. The supervisor appends the network interface and the command of the rank wrapper,
    which runs the user's command for every rank."""

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]: ...
