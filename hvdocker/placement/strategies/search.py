"""Finds the first hosts in inventory order that meet a demand and have a fast network between all of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LinkGraph:
    """The pairs of hosts between which the network is fast enough.

    `joined` has one bit mask for each host: the hosts to which its network is fast enough. A search in the graph
    (for a clique) gives up after `max_nodes` nodes, as if there were no solution. Then the hosts that are chosen in
    the end may have a slower network than possible."""

    joined: Sequence[int]
    max_nodes: int


@dataclass(frozen=True)
class Candidates:
    """The hosts that a search may choose, as bit masks of their positions.

    The size of a host is the number of its eligible free slots. `needs` maps a size to the number of hosts
    needed. `whole` maps a size to the hosts that have enough slots for a full share. `odd` are the hosts of
    `odd_size` that only have enough slots for the remainder of the job; at most one of them is chosen."""

    needs: Mapping[int, int]
    whole: Mapping[int, int]
    odd_size: int = 0
    odd: int = 0


@dataclass(frozen=True)
class _SearchNode:
    """A partial choice of hosts during the search.

    `open` is a bit mask of the hosts that may still be chosen. They come after the last chosen host. `needs` has
    the number of hosts still needed of each size. `has_odd` says that a host for the remainder of the job was
    chosen. `chosen` is a linked list of `length` hosts, the last host first. `is_tied` says that the chosen
    hosts equal the first hosts of the search's `bound`."""

    open: int
    needs: tuple[int, ...]
    has_odd: bool
    chosen: tuple[int, object] | None
    length: int
    is_tied: bool


def first_hosts(
    field: Candidates, graph: LinkGraph | None = None, bound: Sequence[int] | None = None
) -> list[int] | None:
    """Return the positions (bit numbers in the masks of `field`) of the hosts that meet `field.needs` and come first
    in lexicographic order.

    With `graph`, only hosts that are all paired with each other in the graph are chosen. Without `graph`, the search
    never has to backtrack. `bound` is a choice found earlier: a choice that comes after `bound` is not returned.
    Return None if no hosts meet the needs, if they would come after `bound`, or if the search reaches
    `graph.max_nodes`."""
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
    """Whether `node.open`, the hosts that may still be chosen, has enough hosts of every size that is still needed. The
    speed of the network between hosts is not considered. `field` has the hosts of each size; `sizes` are the sizes in
    the order of `node.needs`."""
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
    """Return the search node after `host` (a position) was chosen. `field` has the hosts of each size; `sizes` are the
    sizes in the order of `node.needs`.

    `rest` is the bit mask of the hosts after `host` that may still be chosen. Hosts of a size of which enough are
    chosen are removed from it. `is_tied` says that the chosen hosts, `host` included, equal the first hosts of the
    search's `bound`."""
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
