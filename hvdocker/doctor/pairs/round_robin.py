"""Groups pairs of hosts into rounds, so that no host takes part in two measurements at a time. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def rounds(hosts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return rounds of pairs. Together they contain every pair once, and in each round every host occurs at most once.

    This is the circle method of round-robin tournaments. With an odd number of hosts, one host pauses in each round."""
    order: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    half = len(order) // 2
    made = []
    for _ in range(len(order) - 1):
        facing = zip(order[:half], reversed(order[half:]), strict=True)
        made.append([(one, other) for one, other in facing if one is not None and other is not None])
        order = [order[0], order[-1], *order[1:-1]]
    return made
