"""Searching the graph: what roots reach, and what leads to given nodes. Nothing recurses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from ..graph import LEAF, Node


def reachable(roots: Iterable[Node]) -> list[Node]:
    """Every node that the roots reach, newest first; leaves last."""
    order = [*roots]
    seen = set(order)
    for node in order:  # which grows as edges are followed
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                order.append(edge)
    order.sort(key=attrgetter("seq"), reverse=True)
    return order


def needed_for(
    inputs: set[Node], roots: Iterable[Node], within: Callable[[Node], bool] | None = None
) -> set[Node]:
    """Those nodes through which a cotangent gets from `roots` to one of `inputs`.

    It gets through no node that is not `within`.
    """
    needed = set(inputs)
    for node in reversed(reachable(roots)):
        if not needed.isdisjoint(node.edges) and (within is None or within(node)):
            needed.add(node)
    return needed


def last_contributors(waiting: Iterable[Node]) -> dict[Node, list[Node]]:
    """For each leaf with hooks, the oldest of the nodes yet to run that leads to it."""
    last: dict[Node, list[Node]] = {}
    placed: set[Node] = set()
    for node in reversed(reachable(waiting)):
        for edge in node.edges:
            if edge is None or edge.hooks is None or edge.op is not LEAF:
                continue
            if edge not in placed:
                placed.add(edge)
                last.setdefault(node, []).append(edge)
    return last
