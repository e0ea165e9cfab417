"""The first hosts, in the inventory's order, that meet a demand and are joined by links as fast as wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LinkGraph:
    """`joined` are, for each host, those that its links are fast enough to. What a search has not found
    within `most_nodes` counts as not there: links may then be slower than they could be."""

    joined: Sequence[int]
    most_nodes: int


@dataclass(frozen=True)
class Candidates:
    """Sets of hosts, as bits. `whole` by size can carry a full share, `odd` of one size only the rest of
    the job, and so at most one of them."""

    needs: Mapping[int, int]
    whole: Mapping[int, int]
    odd_size: int = 0
    odd: int = 0


@dataclass(frozen=True)
class _SearchNode:
    """`open` may still be chosen, all of them behind the last chosen one. `chosen` is a chain, last first."""

    open: int
    needs: tuple[int, ...]
    has_odd: bool
    chosen: tuple[int, object] | None
    length: int
    is_tied: bool


def first_hosts(
    field: Candidates, web: LinkGraph | None = None, bound: Sequence[int] | None = None
) -> list[int] | None:
    """Without a web no search ever goes back. Nothing is returned where the answer would come behind
    `bound`."""
    sizes = tuple(field.needs)
    every = field.odd
    for size in sizes:
        every |= field.whole[size]
    stack = [
        _SearchNode(every, tuple(field.needs[size] for size in sizes), False, None, 0, bound is not None)
    ]
    nodes = 0
    while stack:
        node = stack.pop()
        nodes += 1
        if web is not None and nodes > web.most_nodes:
            return None
        if not _is_possible(field, sizes, node):
            continue
        if not any(node.needs):
            return _unchained(node)
        lowest = node.open & -node.open
        host = lowest.bit_length() - 1
        if node.is_tied and bound is not None and host > bound[node.length]:
            return None
        rest = node.open ^ lowest
        stack.append(_SearchNode(rest, node.needs, node.has_odd, node.chosen, node.length, node.is_tied))
        is_tied = node.is_tied and bound is not None and host == bound[node.length]
        stack.append(_take(field, sizes, node, host, rest & web.joined[host] if web else rest, is_tied))
    return None


def _is_possible(field: Candidates, sizes: Sequence[int], node: _SearchNode) -> bool:
    for size, need in zip(sizes, node.needs, strict=True):
        if need:
            there = (node.open & field.whole[size]).bit_count()
            spare = size == field.odd_size and not node.has_odd and bool(node.open & field.odd)
            if there + spare < need:
                return False
    return True


def _take(
    field: Candidates, sizes: Sequence[int], node: _SearchNode, host: int, rest: int, is_tied: bool
) -> _SearchNode:
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


def _unchained(node: _SearchNode) -> list[int]:
    hosts: list[int] = []
    link: object = node.chosen
    while isinstance(link, tuple):
        hosts.append(link[0])
        link = link[1]
    return hosts[::-1]
