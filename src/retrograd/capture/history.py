"""Results that have a history: one node for all of a recorded function.

NOTE [Captured nodes]
1. Where the graph of a result is not used up, the recording goes on (`Past`): a backward pass from
   the results to the tensors that were there before, without hooks and without gradients that are
   added anywhere. Its cotangents are arrays that every replay is given.
2. A replay gives such results one node, of a kind that its program has (`Captured`). It saves the
   tensors from outside that the backward pass reads, whose versions are checked as those of any
   saved tensor, and the arrays between. Its vector-Jacobian product is the second program.
3. With `create_graph` the function itself runs again, on the arguments that it had, and the pass
   goes through that graph. Where this would draw numbers or change something, or where what the
   function read was written since, it is refused.
4. A result that got no cotangent has zeros in its place, and what only it reaches gets nothing.
   Where zeros give NaN, the function runs again, too.
5. One node is freed as a whole. So results whose graphs eager frees one by one are not captured;
   nor are those of which one depends on another, whose gradient is then more than its cotangent.
"""

from __future__ import annotations

from itertools import combinations, compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import modes, pytree
from ..autograd.custom import FunctionKind
from ..engine.backward.traversal import run
from ..engine.graph import FREED, LEAF, OUTPUT, Kind, Node, new_node, tick
from ..engine.record import set_outputs
from ..engine.saved import PackedValues, raw
from ..engine.tensor import Tensor, cell_of, known_cell, new_tensor, node_of
from .recording import Recording
from .traced import TracedArray

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Captured", "Past", "past_of"]

AGAIN = (
    "{purpose}, and the function cannot run again to give it: {reason}. Call the function without "
    "compile()"
)
DERIVED = (
    "the backward pass of a compiled function is asked for its own derivative (create_graph=True)"
)
PARTIAL = (
    "the gradient of some results of a compiled function alone is asked for, which zeros for the "
    "others do not give"
)


# The modes in which a function runs again: those of its recording, within a pass of any kind.
ALONE: dict[str, Any] = {
    "grad": True, "inference": False, "below": False, "levels": (), "batches": (), "nested": (),
    "watchers": (), "tapes": (), "dispatchers": (), "function_modes": (), "saved_hooks": (),
    "before_write": None, "anomaly": False,
}  # fmt: skip


class CompiledFunctionBackward(Node):
    """The node of a compiled function's results."""

    __slots__ = ()


class Past(NamedTuple):
    """The backward pass of a recording: from which results, and what reaches which roots."""

    outputs: list[Tensor]
    cotangents: list[int]  # slots
    first: int  # the number of its first step
    roots: list[int]  # their numbers
    gradients: list[int]  # slots
    reached: list[tuple[bool, ...]]  # for each root, by which results


def new_in(result: Any, is_new: Any) -> list[Tensor]:
    """The tensors among results that have new graphs, not used up, each once."""
    found = {id(t): t for t in pytree.flatten(result) if isinstance(t, Tensor)}
    return [
        t for t in found.values() if t._node is not None and is_new(t._node) and has_values(t._node)
    ]


def reached_from(node: Any, ends: Any = ()) -> set[Any]:
    """All nodes of a graph, but what is behind nodes whose ids are `ends`."""
    waiting, seen = [node], {node}
    while waiting:
        node = waiting.pop()
        for edge in () if id(node) in ends else node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                waiting.append(edge)
    return seen


def has_values(node: Any) -> bool:
    """Whether no value of a graph is freed."""
    return all(each.saved is not FREED for each in reached_from(node))


def are_freed_together(graphs: list[set[Any]]) -> bool:
    """Whether a backward pass through any of some graphs frees values of all others."""
    return all(
        any(node.saved for node in a & b) or not any(node.saved for node in a ^ b)
        for a, b in combinations(graphs, 2)
    )


def past_of(recording: Recording, result: Any) -> Past | None:
    """Let the recording go on with a backward pass from what it gives; None if nothing is live."""
    roots = {id(node): k for k, (node, *_) in enumerate(recording.facts) if node is not None}
    if recording.stopped is not None:
        return None
    outputs = new_in(result, recording.is_new)
    if not outputs:
        return None
    graphs = [reached_from(t._node, roots) for t in outputs]
    ends = check_graph(recording, graphs, roots)
    if not are_freed_together([{n for n in graph if id(n) not in roots} for graph in graphs]):
        recording.stop("results have graphs of their own")
    if any(sum(t._node in graph for graph in graphs) > 1 for t in outputs):
        recording.stop("a result depends on another one")
    if recording.stopped is not None:
        return None
    first = len(recording.steps)
    given = [recording.slot(np.ones(t._array.shape, t._array.dtype)) for t in outputs]
    pairs = [(t._node, new_tensor(array)) for t, array in zip(outputs, given, strict=True)]
    try:
        found = run(pairs, True, False, ends, False, recording.is_new)  # type: ignore[arg-type]
    except Exception as error:
        recording.stop(f"the backward pass from what is returned raises {type(error).__name__}")
        return None
    edges = {node: c for node, c in found.items() if c is not None}
    if any(c.__class__ is not TracedArray for c in edges.values()):
        recording.stop("a gradient of what is returned comes from nowhere")
    if recording.stopped is not None:
        return None
    numbers = [roots[id(node)] for node in edges]
    slots = [c.slot for c in edges.values()]
    reached = [tuple([node in graph for graph in graphs]) for node in edges]
    return Past(outputs, [array.slot for array in given], first, numbers, slots, reached)


def check_graph(recording: Recording, graphs: list[set[Any]], roots: Any) -> list[Any]:
    """The nodes of roots at which the graphs of results end; stops where a replay lacks a part."""
    ends = []
    for node in set().union(*graphs):
        if node.hooks is not None:
            recording.stop(f"{node.name()} has hooks")
        elif id(node) in roots:
            ends.append(node)
        elif node.op is LEAF or not recording.is_new(node):
            recording.stop("the history of a result leads to a tensor of unknown origin")
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
    return ends


class Kept(tuple[Any, ...]):
    """What a node saves; and what it needs so that the function can run again."""

    given: Any  # its arguments
    read: tuple[Tensor, ...]  # tensors from outside


class Captured(Kind):
    """The kind of the nodes of one program's results: NOTE [Captured nodes]."""

    def __init__(self, past: Past) -> None:
        count = len(past.outputs)
        super().__init__("compiled function", CompiledFunctionBackward, count)
        self.outputs, self.reached = count, past.reached
        self.backward: Any = None  # the second program: of saved values and cotangents
        self.again: Any = None  # of arguments: what the function gives when it runs again
        self.own: list[tuple[int, int]] = []  # places of saved values that are outputs, and which
        self.cells: dict[int, Any] = {}  # by place of a saved array: none but those

    def made(
        self, edges: Sequence[Tensor], saved: tuple[Any, ...], arrays: Any, given: Any, read: Any
    ) -> list[Tensor]:
        """The results: tensors around arrays, with one node."""
        node = new_node(self, tuple([node_of(t) for t in edges]))
        node.saved = kept = Kept(saved)
        kept.given, kept.read = given, read
        outputs = [new_tensor(array) for array in arrays]
        set_outputs(node, outputs)
        node.cells = self.cells
        if self.own:
            node.cells = {**self.cells, **{k: cell_of(outputs[i]) for k, i in self.own}}
        return outputs

    def history(self, node: Node, place: int) -> Any:
        """The history of a saved value, which is that of a tensor from outside."""
        held = node.saved[place]
        return held._node if isinstance(held, Tensor) else None

    def materialize(self, node: Node, g: Any, create_graph: bool) -> Any:
        """The cotangents as they are: `vjp` has to know which did not arrive."""
        return g

    def vjp(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """What the second program gives."""
        values = raw(node)
        parts = (g,) if self.grad_outputs == 1 else g
        arrived = [c is not None for c in parts]
        if create_graph or any(c is not None and c.__class__ is not np.ndarray for c in parts):
            return self.twice(node, parts, create_graph, DERIVED)
        if all(arrived):
            return self.backward(*values, *map(in_rows, parts))
        given = [np.zeros(*n) if c is None else in_rows(c)
                 for c, n in zip(parts, node.layout, strict=True)]  # fmt: skip
        found = self.backward(*values, *given)
        if not all(np.isfinite(c).all() for c in found):  # what is 0 * inf there is none eagerly
            return self.twice(node, parts, False, PARTIAL)
        reached = [any(compress(by, arrived)) for by in self.reached]
        return [c if way else None for c, way in zip(found, reached, strict=True)]

    def twice(self, node: Any, g: Any, create_graph: bool, purpose: str) -> Any:
        """The contributions through the graph of the function, which runs again."""
        start = tick()

        def is_new(each: Node) -> bool:
            return each.seq > start

        kept = node.saved
        cells = [known_cell(t) for t in kept.read]
        if any(cell is not None and cell.last > node.seq for cell in cells):
            reason = "what it read was written since"
            raise RuntimeError(AGAIN.format(purpose=purpose, reason=reason))
        with modes.Changed(**ALONE):
            why, result = self.again(*kept.given)
        if why:
            raise RuntimeError(AGAIN.format(purpose=purpose, reason=why))
        outputs = new_in(result, is_new)
        pairs = [(t._node, c) for t, c in zip(outputs, g, strict=True) if c is not None]
        on = create_graph and modes.state.grad  # where it is off, the pass is on tensors alone
        found = run(pairs, True, on, node.edges, False, is_new)  # type: ignore[arg-type]
        return [found.get(edge) for edge in node.edges]


def in_rows(g: Any) -> Any:
    """A cotangent without gaps, in row-major order."""
    return np.ascontiguousarray(g).reshape(g.shape)
