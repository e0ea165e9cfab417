"""Who measures with whom, so that no host is in two measurements at a time."""

from __future__ import annotations

from collections.abc import Sequence


def rounds(hosts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Every pair once, in as few rounds as can be, as in a tournament: one stays, the others go round it.
    With an odd number one host pauses in each round."""
    seats: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    half = len(seats) // 2
    made = []
    for _ in range(len(seats) - 1):
        facing = zip(seats[:half], reversed(seats[half:]), strict=True)
        made.append([(one, other) for one, other in facing if one is not None and other is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return made
