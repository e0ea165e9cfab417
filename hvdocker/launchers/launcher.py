"""The seam that every launcher fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hvdocker.protocol.placement import Placement


class Launcher(Protocol):
    """Turns a placement into the words that start all ranks; the supervisor adds its own interface."""

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]: ...
