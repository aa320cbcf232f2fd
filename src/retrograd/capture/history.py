"""Results that have a history: one node for all of a recorded function, or a few.

NOTE [Captured nodes]
1. Where the graph of a result is not used up, the recording goes on (`past`): a backward pass from
   the results to the tensors that were there before, without hooks and without gradients that are
   added anywhere. Its cotangents are arrays that every replay is given. Where results depend on one
   another there are several such passes: NOTE [Stretches] in `past`.
2. A replay makes a node for each pass, of a kind that its program has (`Captured`). It saves the
   tensors from outside that the pass reads, whose versions are checked as those of any saved
   tensor, and the arrays between. Its vector-Jacobian product is a second program, of that pass.
3. With `create_graph` the function itself runs again, on the arguments that it had, and the pass
   goes through that graph. Where this would draw numbers or change something, or where what the
   function read was written since, it is refused.
4. An output that got no cotangent has zeros in its place, and what only it reaches gets nothing.
   Where zeros give NaN, the function runs again, too.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from ..engine.backward.traversal import run
from ..engine.graph import Kind, Node, new_node, tick
from ..engine.record import set_outputs
from ..engine.saved import raw
from ..engine.tensor import Tensor, cell_of, known_cell, new_tensor, node_of
from .past import Past, in_order, new_in

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Captured"]

AGAIN = (
    "{purpose}, and the function cannot run again to give it: {reason}. Call the function without "
    "compile()"
)
DERIVED = (
    "the backward pass of a compiled function is asked for its own derivative (create_graph=True)"
)
CHANGED = "what the backward pass of a compiled function reads has changed since its forward pass"
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

NUMPY = (np.ndarray, np.generic)  # a cotangent of one number may be NumPy's scalar


class CompiledFunctionBackward(Node):
    """The node of a compiled function's results."""

    __slots__ = ()


class Kept(tuple[Any, ...]):
    """What a node saves; and what it needs so that the function can run again."""

    given: Any  # its arguments
    read: tuple[Tensor, ...]  # tensors from outside


class Captured(Kind):
    """The kind of the nodes of one program's results: NOTE [Captured nodes]."""

    def __init__(self, past: Past) -> None:
        super().__init__("compiled function", CompiledFunctionBackward, len(past.outputs))
        self.reached, self.places = past.reached, past.places
        self.hidden = [
            np.broadcast_to(np.zeros((), node.dtype), node.shape)
            for node in past.outputs[len(past.results) :]
        ]  # what stands for the outputs that nobody sees
        self.backward: Any = None  # the second program: of saved values and cotangents
        self.again: Any = None  # of arguments: what the function gives when it runs again
        self.reads: Any = None  # whether what custom Functions read in it is as it was
        self.owned: list[int] = []  # the places of saved values that are results
        self.cells: dict[int, Any] = {}  # by place of a saved array: none but those

    def give(
        self, results: tuple[Tensor, ...], edges: Sequence[Tensor], saved: tuple[Any, ...],
        owners: Any, given: Any, read: Any,
    ) -> Any:  # fmt: skip
        """Give results a history, one node; all outputs of it, as tensors."""
        node = new_node(self, tuple([node_of(t) for t in edges]))
        node.saved = kept = Kept(saved)
        kept.given, kept.read = given, read
        outputs = (*results, *map(new_tensor, self.hidden))
        set_outputs(node, outputs)
        node.cells = self.cells
        if owners:
            node.cells = {**self.cells, **dict(zip(self.owned, map(cell_of, owners), strict=True))}
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
        if create_graph or not all(c is None or isinstance(c, NUMPY) for c in parts):
            return self.twice(node, parts, create_graph, DERIVED)
        if self.reads is not None and not self.reads(*node.saved.given, modes.state):
            return self.twice(node, parts, False, CHANGED)
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
        nodes = in_order([t._node for t in new_in(result, is_new)], is_new)
        outputs, ends, inner, count = self.places
        if len(nodes) != count:
            raise RuntimeError(AGAIN.format(purpose=purpose, reason="its graph is another one now"))
        within = {nodes[place] for place in inner}.__contains__
        pairs = [(nodes[place], c) for place, c in zip(outputs, g, strict=True) if c is not None]
        edges = [
            edge if place is None else nodes[place]
            for edge, place in zip(node.edges, ends, strict=True)
        ]
        on = create_graph and modes.state.grad  # where it is off, the pass is on tensors alone
        found = run(pairs, True, on, edges, False, within)
        return [found.get(edge) for edge in edges]


def in_rows(g: Any) -> Any:
    """A cotangent without gaps, in row-major order."""
    return np.ascontiguousarray(g).reshape(g.shape)
