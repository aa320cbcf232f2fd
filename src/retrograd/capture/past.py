"""The backward passes of what a recording gives, noted as it goes on: NOTE [Captured nodes].

NOTE [Stretches]
1. The nodes of a graph that the same results lead to are a stretch of it. What newer stretches need
   of one are its outputs, and so is what is returned of it: a result is not behind any other node
   of its stretch. So its cotangent is complete before its stretch runs, for its hooks and for
   whoever asks for it; and a pass from one result uses up those stretches that eager would.
2. Outputs of one node belong to the stretch of that node.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import pytree
from ..autograd.custom import FunctionKind
from ..engine.backward.search import reachable
from ..engine.backward.traversal import run
from ..engine.graph import FREED, OUTPUT
from ..engine.saved import PackedValues
from ..engine.tensor import Tensor, new_tensor
from .recording import Ahead
from .traced import TracedArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..engine.graph import Node
    from .recording import Recording

__all__ = ["Past", "in_order", "is_shown_by", "new_in", "past_of"]


class Past(NamedTuple):
    """The backward pass of one stretch of a recording, from its outputs to what it was made of."""

    results: list[Tensor]  # the first of the outputs; the others are not returned
    outputs: list[Node]
    cotangents: list[int]  # slots
    steps: list[Any]
    ends: list[Any]  # numbers of roots, or outputs of older stretches: (which, its place)
    gradients: list[int]  # slots
    reached: list[tuple[bool, ...]]  # for each end, by which outputs
    frees: bool  # whether eager's pass frees a value
    places: tuple[Any, ...]  # of outputs, ends and all its nodes in the graph; how many that has


def new_in(result: Any, is_new: Any) -> list[Tensor]:
    """The tensors among results that have new graphs, not used up, each once.

    Views of other results, or of what was there before, are none: a replay makes them of those.
    """
    found = {id(t): t for t in pytree.flatten(result) if isinstance(t, Tensor)}
    live = [
        t for t in found.values() if t._node is not None and is_new(t._node) and has_values(t._node)
    ]
    behind = {
        edge for node in in_order([t._node for t in live], is_new) for edge in node.edges
    }  # what another result depends on is one itself
    return [
        t for t in live
        if t._node in behind
        or not is_shown_by(t, lambda base: id(base) in found or not is_new(base._node))
    ]  # fmt: skip


def is_shown_by(t: Tensor, among: Callable[[Tensor], bool]) -> bool:
    """Whether a tensor is a view of one of others, with no more of a history than that."""
    view: Any = t._view_of
    node: Any = t._node
    if view is None or view.origin != "plain" or t._version or node is None or node.hooks:
        return False
    base = view.base
    if base._node is None or not among(base):
        return False
    for op, _, output in reversed(view.path):
        if node.op is not op or output is not None or node.hooks:
            return False
        node = node.edges[0]
    return node is base._node


def has_values(node: Any) -> bool:
    """Whether no value of a graph is freed."""
    return all(each.saved is not FREED for each in reachable([node]))


def in_order(starts: list[Any], inside: Callable[[Any], bool]) -> list[Any]:
    """The nodes of a graph that are `inside`, in an order that the graph alone decides."""
    order = [*dict.fromkeys(starts)]
    seen = set(order)
    for node in order:  # which grows
        for edge in node.edges:
            if edge is not None and edge not in seen and inside(edge):
                seen.add(edge)
                order.append(edge)
    return order


def stretches_of(results: list[Any], nodes: list[Any]) -> dict[Any, int]:
    """The number of the stretch that each node of a graph is in; of the oldest it is 0."""
    leading = dict.fromkeys(nodes, 0)  # the results that lead to a node, as bits
    for k, node in enumerate(results):
        leading[node] |= 1 << k
    for node in sorted(nodes, key=attrgetter("seq"), reverse=True):
        for edge in node.edges:
            if edge in leading:
                leading[edge] |= leading[node]
    for node in nodes:
        if node.op is OUTPUT:
            leading[node] = leading[node.edges[0]]
    order = sorted(set(leading.values()), key=lambda bits: (-bits.bit_count(), bits))
    return {node: order.index(bits) for node, bits in leading.items()}


def past_of(recording: Recording, result: Any) -> list[Past]:
    """Let the recording go on with backward passes from what it gives, of all stretches.

    The oldest is the first. There are none if nothing that is returned has a live graph.
    """
    recording.ahead, recording.earlier = True, len(recording.arrays)
    try:
        return [] if recording.stopped is not None else passes(recording, result)
    except Ahead:
        return []
    finally:
        recording.ahead = False


def passes(recording: Recording, result: Any) -> list[Past]:
    """Those passes."""
    results = new_in(result, recording.is_new)
    nodes = in_order([t._node for t in results], recording.is_new)
    check_graph(recording, nodes)
    number_of = stretches_of([t._node for t in results], nodes)
    stretches: list[list[Tensor]] = [[] for _ in {*number_of.values()}]
    for t in results:
        stretches[number_of[t._node]].append(t)
    outputs: list[list[Any]] = [[t._node for t in stretch] for stretch in stretches]
    roots = {facts[0]: k for k, facts in enumerate(recording.facts) if facts[0] is not None}
    places = {node: place for place, node in enumerate(nodes)}
    pasts: list[Past] = []
    for number in reversed(range(len(stretches))):

        def within(node: Any, number: int = number) -> bool:
            return number_of.get(node) == number

        inner = in_order(outputs[number], within)
        edges = dict.fromkeys([e for node in inner for e in node.edges if e is not None])
        first = len(recording.steps)
        given, found = noted(recording, outputs[number], [*edges.keys() - {*inner}], within)
        ends: list[Any] = []
        for node in found:
            if node in roots:
                ends.append(roots[node])
                continue
            older = number_of[node]
            if node not in outputs[older]:
                outputs[older].append(node)
            ends.append((older, outputs[older].index(node)))
        graphs = [in_order([node], within) for node in outputs[number]]
        leading = [{edge for node in graph for edge in node.edges} for graph in graphs]
        pasts.append(
            Past(
                stretches[number], outputs[number], given, recording.steps[first:], ends,
                [c.slot for c in found.values()],
                [tuple([node in edges for edges in leading]) for node in found],
                any(node.saved for node in inner),
                ([places[n] for n in outputs[number]], [places.get(n) for n in found],
                 [places[n] for n in inner], len(nodes)),
            )
        )  # fmt: skip
    return pasts[::-1]


def noted(
    recording: Recording, outputs: list[Any], ends: list[Any], within: Any
) -> tuple[list[int], dict[Any, TracedArray]]:
    """Carry cotangents from outputs to ends: their slots, and what arrives."""
    given = [recording.slot(np.ones(node.shape, node.dtype)) for node in outputs]
    pairs = [(node, new_tensor(c)) for node, c in zip(outputs, given, strict=True)]
    found: dict[Any, Any] = {}
    try:
        found = run(pairs, True, False, ends, False, within)
    except Exception as error:
        recording.stop(f"the backward pass from what is returned raises {type(error).__name__}")
    found = {node: c for node, c in found.items() if c is not None}
    if any(c.__class__ is not TracedArray for c in found.values()):
        recording.stop("a gradient of what is returned comes from nowhere")
    return [c.slot for c in given], found


def check_graph(recording: Recording, nodes: list[Any]) -> None:
    """End the recording where a replay would lack a part of the graph of results."""
    roots = {facts[0] for facts in recording.facts}
    for node in nodes:
        if node.hooks is not None:
            recording.stop(f"{node.name()} has hooks")
        elif isinstance(node.saved, PackedValues) or not (
            node.op.formulas or node.op is OUTPUT or isinstance(node.op, FunctionKind)
        ):
            recording.stop(f"{node.name()} has no formulas, or packed values")
        elif (
            isinstance(node.op, FunctionKind)
            and node.op.grad_outputs != 1
            and not node.state.get("materialize_grads", True)
        ):
            recording.stop(f"{node.name()} asks which of its results got a gradient")
        for edge in node.edges:
            if edge is not None and not recording.is_new(edge):
                if edge not in roots:
                    recording.stop("the history of a result leads to a tensor of unknown origin")
                elif edge.hooks is not None:
                    recording.stop(f"{edge.name()} has hooks")
