"""Rewriting: what matches a pattern in a module's graph gives way to a replacement."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, copy_attribute
from .node import Node, map_arg

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: its last node there, and what each of its nodes is there."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns(NamedTuple):
    """A match, and the nodes that stand in its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def graph_of(part: Any) -> tuple[Graph, GraphModule | None]:
    """The graph of a pattern or a replacement, and the module that it was traced to."""
    if isinstance(part, Graph):
        return part, None
    module = part if isinstance(part, GraphModule) else symbolic_trace(part)
    return module.graph, module


class Matcher:
    """Compares a pattern with parts of a graph, backward from the pattern's results."""

    def __init__(self, pattern: Graph, ignore_literals: bool) -> None:
        self.ignore_literals = ignore_literals
        self.inputs = pattern.find_nodes(op="placeholder")
        output = pattern.output_node()
        self.results = output.all_input_nodes
        self.inner = [n for n in pattern.nodes if n.op not in ("placeholder", "output")]

    def match(self, end: Node) -> dict[Node, Any] | None:
        """The graph's nodes by those of the pattern, if its last result is `end`; else None."""
        found: dict[Node, Any] = {}
        if not self.results or not self.same(self.results[-1], end, found):
            return None
        for result in self.results[:-1]:
            if result not in found and not self.complete(result, end, found):
                return None
        inner = {found[n] for n in self.inner if n in found}
        for node in self.inner:
            inside = node not in self.results
            if inside and any(user not in inner for user in found[node].users):
                return None  # somebody else needs the value
        return found

    def complete(self, result: Node, end: Node, found: dict[Node, Any]) -> bool:
        """Match a result that the last one does not depend on."""
        for candidate in end.graph.nodes:
            trial = dict(found)
            if self.same(result, candidate, trial):
                found.update(trial)
                return True
        return False

    def same(self, pattern: Any, node: Any, found: dict[Node, Any]) -> bool:
        """Whether a part of the pattern is a part of the graph."""
        if isinstance(pattern, Node):
            if pattern in found:
                return found[pattern] is node or (
                    pattern.op == "placeholder" and found[pattern] == node
                )
            if isinstance(node, Node) and node in found.values():
                return False  # two nodes of the pattern are never one here
            if pattern.op == "placeholder":
                found[pattern] = node
                return True
            if not isinstance(node, Node) or (pattern.op, pattern.target) != (node.op, node.target):
                return False
            found[pattern] = node
            return self.same(pattern.args, node.args, found) and self.same(
                pattern.kwargs, node.kwargs, found
            )
        if isinstance(pattern, (list, tuple)):
            return (
                isinstance(node, (list, tuple))
                and len(pattern) == len(node)
                and all(self.same(a, b, found) for a, b in zip(pattern, node, strict=True))
            )
        if isinstance(pattern, dict):
            return (
                isinstance(node, dict)
                and pattern.keys() == node.keys()
                and all(self.same(pattern[key], node[key], found) for key in pattern)
            )
        if isinstance(pattern, slice):
            return isinstance(node, slice) and self.same(
                (pattern.start, pattern.stop, pattern.step),
                (node.start, node.stop, node.step),
                found,
            )
        return not isinstance(node, Node) and (
            self.ignore_literals or (type(pattern) is type(node) and pattern == node)
        )


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Put a replacement in place of every part of a graph that matches a pattern.

    Pattern and replacement are functions or modules of as many arguments; an argument of the
    pattern matches anything, but no node that another one matches. Of matches that overlap, the
    first counts; a match of which the rest of the graph uses a value other than its results does
    not. Recompiles, and returns the matches.

    >>> module = rg.fx.symbolic_trace(lambda x: rg.relu(x) + 1)
    >>> matches = rg.fx.replace_pattern(module, lambda x: rg.relu(x), lambda x: rg.neg(x))
    >>> len(matches), module(rg.ones(2))
    (1, tensor([0., 0.]))
    """
    done = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(match.anchor, match.nodes_map) for match in done]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Any] | None = None,
) -> list[ReplacedPatterns]:
    """`replace_pattern` for the matches that all filters accept.

    A filter, and `replacement_callback`, which makes the replacement's graph, are called with the
    match, the graph and the pattern's graph. `ignore_literals`: numbers and texts in the pattern
    match any others.

    >>> module = rg.fx.symbolic_trace(lambda x: x + 1)
    >>> never = lambda match, graph, pattern: False
    >>> rg.fx.subgraph_rewriter.replace_pattern_with_filters(
    ...     module, lambda x: x + 1, lambda x: x + 2, [never]
    ... )
    []
    """
    wanted, _ = graph_of(pattern)
    matcher = Matcher(wanted, ignore_literals)
    taken: set[Node] = set()
    matches = []
    for end in gm.graph.nodes:
        found = matcher.match(end)
        if found is None or any(found[node] in taken for node in matcher.inner):
            continue
        match = Match(end, found)
        if all(passes(match, gm.graph, wanted) for passes in match_filters or ()):
            taken.update(found[node] for node in matcher.inner)
            matches.append(match)
    changed: dict[Node, Any] = {}
    done = []
    for match in matches:
        if replacement_callback is not None:
            replacement = replacement_callback(match, gm.graph, wanted)
        made, module = graph_of(replacement)
        new = put_in_place(gm, matcher, match.nodes_map, made, module, changed)
        done.append(ReplacedPatterns(*match, new))
    gm.recompile()
    return done


def put_in_place(
    gm: GraphModule,
    matcher: Matcher,
    found: dict[Node, Any],
    made: Graph,
    module: GraphModule | None,
    changed: dict[Node, Any],
) -> list[Node]:
    """Copy the replacement's nodes to where a match is, and take out the match."""
    inputs = made.find_nodes(op="placeholder")
    if len(inputs) != len(matcher.inputs):
        raise AssertionError(
            f"the pattern has {len(matcher.inputs)} inputs, its replacement {len(inputs)}: "
            "give both the same parameters"
        )
    promised: list[Any] = []
    map_arg(made.output_node().args, promised.append)
    if len(promised) != len(matcher.results):
        raise AssertionError(
            f"the pattern has {len(matcher.results)} results, its replacement {len(promised)}: "
            "return as many"
        )
    given = [map_arg(found.get(n), lambda arg: changed.get(arg, arg)) for n in matcher.inputs]
    known = dict(zip(inputs, given, strict=True))
    for node in made.nodes:
        if module is not None and node.op in ("get_attr", "call_module"):
            copy_missing(gm, module, str(node.target))
    old = [found[node] for node in matcher.results]
    users = {user for node in old for user in node.users}
    before = set(gm.graph.nodes)
    with gm.graph.inserting_before(next(n for n in gm.graph.nodes if n in (users or old))):
        value = gm.graph.graph_copy(made, known)
    results: list[Any] = []
    map_arg(value, results.append)
    for was, now in zip(old, results, strict=True):
        was.replace_all_uses_with(now)
        changed[was] = now
    for node in reversed(matcher.inner):
        if not found[node].users:
            gm.graph.erase_node(found[node])
    return [node for node in gm.graph.nodes if node not in before]


def copy_missing(gm: GraphModule, module: GraphModule, path: str) -> None:
    """Give a module a copy of what the replacement has at a path, unless it has something there."""
    found: Any = gm
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is None:
        copy_attribute(copy.deepcopy(module), gm, path)
