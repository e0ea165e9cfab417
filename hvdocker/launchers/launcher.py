"""The protocol that the class of every launcher (a program such as horovodrun that starts the ranks) implements.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hvdocker.protocol.placement import Placement


class Launcher(Protocol):
    """`argv` turns a placement into the command line that starts all ranks. `addresses` has the training address of
    each host, `port` is the SSH port of the workers. The command line does not have the user's command: the supervisor
    appends the network interface and the rank wrapper, which runs the user's command on every host."""

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]: ...
