"""Finds which sizes of hosts a packed job needs. The size of a host is the number of its eligible free slots. Pure.

The criteria are: fewest hosts, then fewest slots left over, then largest hosts first. They decide the sizes
uniquely. choose.py decides later which hosts of these sizes the job gets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

# A state of the search: the number of hosts still to choose, and the number of slots that may still be lost.
# Slots are lost by choosing smaller hosts instead of the largest ones.
_State = tuple[int, int]


def packed_sizes(sizes: Sequence[int], np: int) -> list[int]:
    """Return the sizes of the hosts to use for `np` slots, in descending order. `sizes` are the sizes of all hosts,
    together at least `np`.

    The number of hosts to use, k, is the smallest number for which the k largest hosts together have `np` slots. Other
    choices of k hosts may leave fewer slots over, so all choices of k hosts with at least `np` slots are tried. They
    are tried size by size, and choices that lead to the same search state (`_State`) are tried only once.

    There are few states. Choosing smaller hosts can lose only the slots that the k largest hosts have beyond `np`.
    These are fewer than the slots of the smallest of them, because k-1 hosts are too few."""
    descending = sorted(sizes, reverse=True)
    sums = [0, *accumulate(descending)]
    hosts = next(count for count, total in enumerate(sums) if total >= np)
    groups = _groups(descending)
    start = (hosts, sums[hosts] - np)
    layers = [{start}]
    for group in groups:
        layers.append({state for before in layers[-1] for _, state in _choices_of_size(before, group, sums)})
    least = min(state for state in layers[-1] if state[0] == 0)
    return _largest_first(start, least, groups, layers, sums)


def _groups(descending: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return one tuple for each different size in `descending`: the size, its first index in `descending`, and the
    number of hosts of that size. `descending` has the size of every host, the largest first."""
    groups: list[tuple[int, int, int]] = []
    for place, size in enumerate(descending):
        if groups and groups[-1][0] == size:
            groups[-1] = (size, groups[-1][1], groups[-1][2] + 1)
        else:
            groups.append((size, place, 1))
    return groups


def _choices_of_size(state: _State, group: tuple[int, int, int], sums: Sequence[int]) -> list[tuple[int, _State]]:
    """Return the possible numbers of hosts to take of one size, the largest first, each with the search state after
    it.

    `state` is the number of hosts still to choose and the number of slots that may still be lost. Slots are lost by
    choosing smaller hosts instead of the largest ones. `group` is the size, the index of its first host (hosts are
    sorted, the largest first), and the number of such hosts. `sums[n]` is the number of slots of the n largest hosts.
    Numbers with which more slots are lost than the state allows are left out."""
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
    """Return the sizes of the hosts to use, in descending order. Several choices of hosts lead from the search state
    `start` to `end`; this is the one that takes the most hosts of the largest sizes.

    A state is the number of hosts still to choose and the number of slots that may still be lost. `groups` has a tuple
    for each size, the largest first: the size, the index of its first host, and the number of such hosts. `layers` are
    the states that can be reached before each group, and after the last group. `sums[n]` is the number of slots of the
    n largest hosts."""
    leading = [{end}]
    for group, layer in zip(reversed(groups), reversed(layers[:-1]), strict=True):
        goals = leading[-1]
        leading.append({s for s in layer if any(after in goals for _, after in _choices_of_size(s, group, sums))})
    leading.reverse()
    chosen: list[int] = []
    state = start
    for group, goals in zip(groups, leading[1:], strict=True):
        taken, state = next(step for step in _choices_of_size(state, group, sums) if step[1] in goals)
        chosen += [group[0]] * taken
    return chosen
