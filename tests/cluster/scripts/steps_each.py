"""The steps of steps.py, every rank for itself: each has its own checkpoint, and waits for the gate of its host."""

import os
from collections.abc import Sequence

import steps


class World:
    rank, size = int(os.environ["HVDOCKER_RANK"]), int(os.environ["HVDOCKER_SIZE"])

    def add(self, values: Sequence[float]) -> Sequence[float]:
        return values


steps.run(World(), saves=True)
