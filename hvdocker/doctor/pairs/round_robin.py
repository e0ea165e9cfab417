"""Who measures with whom, so that no host is in two measurements at a time."""

from __future__ import annotations

from collections.abc import Sequence


def rounds(hosts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Every pair once, in as few rounds as can be, as in a tournament: one stays, the others go round it.
    With an odd number one host pauses in each round."""
    order: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    half = len(order) // 2
    made = []
    for _ in range(len(order) - 1):
        facing = zip(order[:half], reversed(order[half:]), strict=True)
        made.append([(one, other) for one, other in facing if one is not None and other is not None])
        order = [order[0], order[-1], *order[1:-1]]
    return made
