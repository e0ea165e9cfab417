"""Finds the first hosts in inventory order that meet a demand and are all joined by fast links. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LinkGraph:
    """The links that are fast enough. `joined` has, for each host, the hosts at the other end, as a bit mask.

    A search (for a clique) gives up after `max_nodes` nodes, as if there were no solution: the chosen links
    may then be slower than possible."""

    joined: Sequence[int]
    max_nodes: int


@dataclass(frozen=True)
class Candidates:
    """Hosts that a search may choose, as bit masks of their positions.

    `needs` is the number of hosts needed of each size. `whole` are the hosts of each size that can carry a
    full share. `odd` are hosts of `odd_size` that can only carry the rest of the job; at most one of them is
    chosen."""

    needs: Mapping[int, int]
    whole: Mapping[int, int]
    odd_size: int = 0
    odd: int = 0


@dataclass(frozen=True)
class _SearchNode:
    """A partial choice. `open` are the hosts that may still be chosen; all come after the last chosen one.

    `needs` is the number of hosts still needed, in the order of the sizes. `chosen` is a linked list of
    `length` hosts, last first. `is_tied` says that it equals the beginning of the bound so far."""

    open: int
    needs: tuple[int, ...]
    has_odd: bool
    chosen: tuple[int, object] | None
    length: int
    is_tied: bool


def first_hosts(
    field: Candidates, graph: LinkGraph | None = None, bound: Sequence[int] | None = None
) -> list[int] | None:
    """Return the positions of the first hosts in lexicographic order that meet `field`; None if none do.

    With `graph`, every two hosts have a link in it; without it the search never has to backtrack. Also returns
    None if the result would come after `bound`, or if the limit of nodes is reached."""
    sizes = tuple(field.needs)
    every = field.odd
    for size in sizes:
        every |= field.whole[size]
    stack = [_SearchNode(every, tuple(field.needs[size] for size in sizes), False, None, 0, bound is not None)]
    nodes = 0
    while stack:
        node = stack.pop()
        nodes += 1
        if graph is not None and nodes > graph.max_nodes:
            return None
        if not _is_possible(field, sizes, node):
            continue
        if not any(node.needs):
            return _chosen_hosts(node)
        lowest = node.open & -node.open
        host = lowest.bit_length() - 1
        if node.is_tied and bound is not None and host > bound[node.length]:
            return None
        rest = node.open ^ lowest
        stack.append(_SearchNode(rest, node.needs, node.has_odd, node.chosen, node.length, node.is_tied))
        is_tied = node.is_tied and bound is not None and host == bound[node.length]
        stack.append(_with_host(field, sizes, node, host, rest & graph.joined[host] if graph else rest, is_tied))
    return None


def _is_possible(field: Candidates, sizes: Sequence[int], node: _SearchNode) -> bool:
    """Whether enough hosts of every size are still open. Links are not considered."""
    for size, need in zip(sizes, node.needs, strict=True):
        if need:
            there = (node.open & field.whole[size]).bit_count()
            spare = size == field.odd_size and not node.has_odd and bool(node.open & field.odd)
            if there + spare < need:
                return False
    return True


def _with_host(
    field: Candidates, sizes: Sequence[int], node: _SearchNode, host: int, rest: int, is_tied: bool
) -> _SearchNode:
    """Return the node with `host` chosen, and without the open hosts that are no longer needed."""
    bit = 1 << host
    is_odd = bool(field.odd & bit)
    size = field.odd_size if is_odd else next(size for size in sizes if field.whole[size] & bit)
    place = sizes.index(size)
    need = node.needs[place] - 1
    needs = (*node.needs[:place], need, *node.needs[place + 1 :])
    if not need:
        rest &= ~field.whole[size]
    if is_odd or (size == field.odd_size and not need):
        rest &= ~field.odd
    return _SearchNode(rest, needs, node.has_odd or is_odd, (host, node.chosen), node.length + 1, is_tied)


def _chosen_hosts(node: _SearchNode) -> list[int]:
    hosts: list[int] = []
    link: object = node.chosen
    while isinstance(link, tuple):
        hosts.append(link[0])
        link = link[1]
    return hosts[::-1]
