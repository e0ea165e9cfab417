"""Chooses slots on one host: fewest GPU models, then the first slots. Pure."""

from __future__ import annotations

from collections import Counter

from hvdocker.placement.strategies.eligible import FreeSlots


def choose_slots_on_host(room: FreeSlots, share: int) -> tuple[int, ...]:
    """Choose `share` of the free slots of the host, and return their indices in `room.slots`, in ascending order. The
    caller ensures that the host has at least so many free slots.

    The slots have as few GPU models as possible. Among such choices, the first slots are taken."""
    models = [slot.model for slot in room.slots]
    left = Counter(models)
    if share == room.size or len(left) == 1:
        return tuple(range(share))
    fewest = next(many for many in range(len(left) + 1) if _max_slots(left, set(), many) >= share)
    chosen: list[int] = []
    used: set[str] = set()
    for place, model in enumerate(models):
        left[model] -= 1
        with_it = used | {model}
        if len(with_it) > fewest or len(chosen) == share:
            continue
        if len(chosen) + 1 + _max_slots(left, with_it, fewest) >= share:
            chosen.append(place)
            used = with_it
    return tuple(chosen)


def _max_slots(left: Counter[str], used: set[str], models: int) -> int:
    """Return how many slots of a host can be taken with at most `models` different GPU models.

    `left` has the number of remaining slots by model. `used` are the models of slots that were chosen already; they
    count towards the limit `models`."""
    others = sorted((many for model, many in left.items() if model not in used), reverse=True)
    return sum(left[model] for model in used) + sum(others[: models - len(used)])
