"""How large the hosts of a packed job are: fewest of them, least left over, then the largest ones. Which
hosts of these sizes it gets is decided later."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

_State = tuple[int, int]  # hosts still to choose, slots that may still be lost against the largest choice


def packed_sizes(sizes: Sequence[int], np: int) -> list[int]:
    """In descending order. There are enough slots.

    With the fewest hosts the largest choice leaves fewer slots over than its smallest host has, so what may
    be lost against it is little, and all choices within that are tried, size by size, each state once."""
    descending = sorted(sizes, reverse=True)
    sums = [0, *accumulate(descending)]
    hosts = next(count for count, total in enumerate(sums) if total >= np)
    groups = _groups(descending)
    start = (hosts, sums[hosts] - np)
    layers = [{start}]
    for group in groups:
        layers.append({state for before in layers[-1] for _, state in _steps(before, group, sums)})
    least = min(state for state in layers[-1] if state[0] == 0)
    return _largest_first(start, least, groups, layers, sums)


def _groups(descending: Sequence[int]) -> list[tuple[int, int, int]]:
    """Each size with its first place in the order and how many there are."""
    groups: list[tuple[int, int, int]] = []
    for place, size in enumerate(descending):
        if groups and groups[-1][0] == size:
            groups[-1] = (size, groups[-1][1], groups[-1][2] + 1)
        else:
            groups.append((size, place, 1))
    return groups


def _steps(state: _State, group: tuple[int, int, int], sums: Sequence[int]) -> list[tuple[int, _State]]:
    """Take so many hosts of this size, most first, while not too much is lost by it."""
    hosts, slack = state
    size, first, many = group
    after = first + many
    most = sums[first + hosts] - sums[first]
    steps = []
    for taken in range(min(many, hosts), -1, -1):
        rest = hosts - taken
        if after + rest >= len(sums):
            break
        lost = most - taken * size - (sums[after + rest] - sums[after])
        if lost > slack:
            break
        steps.append((taken, (rest, slack - lost)))
    return steps


def _largest_first(
    start: _State,
    end: _State,
    groups: Sequence[tuple[int, int, int]],
    layers: Sequence[set[_State]],
    sums: Sequence[int],
) -> list[int]:
    """Of all ways to the end, the one that takes the most of the largest."""
    leading = [{end}]
    for group, layer in zip(reversed(groups), reversed(layers[:-1]), strict=True):
        goals = leading[-1]
        leading.append({s for s in layer if any(after in goals for _, after in _steps(s, group, sums))})
    leading.reverse()
    chosen: list[int] = []
    state = start
    for group, goals in zip(groups, leading[1:], strict=True):
        taken, state = next(step for step in _steps(state, group, sums) if step[1] in goals)
        chosen += [group[0]] * taken
    return chosen
