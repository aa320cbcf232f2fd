"""What an op gave, as tensors: with a node, tied to their bases, with tangents, seen by watchers.

The functions in `callers` do that for a plain call themselves, in a few lines. Every other call
comes to `finish`: NOTE [Stations] in `dispatch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..kernels.allocation import has_class
from ..locks import structure
from .graph import Kind, Node, leaf_node, new_node, output_node
from .saved import Packed, PackedValues
from .tensor import (
    Tensor,
    alias,
    as_array,
    cell_of,
    new_tensor,
    node_of,
    tensor_of,
    twin,
)
from .trace import FRAME, where
from .transforms.interpreted import shares_memory
from .views import LONGEST, Link, add_view, enlist, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .op import Op

# Views made where nothing is recorded: leaves that require grad if their base does, as in PyTorch.
UNRECORDED = ("inference", "no_grad")


def finish(
    op: Op, inputs: tuple[Any, ...], results: Any, params: dict[str, Any], level: Any = None
) -> Any:
    """The tensors that a call of `op` gives, made of its results and recorded if a node is wanted.

    `inputs` are tensors or None (a variadic op's are flattened), `results` one array, or a tuple
    of them for an op with several outputs; they may be tensors that nobody else has. In a batched
    call, `level`, only the history and the tangents of its own batches are recorded (NOTE [Batches]
    in `engine.transforms.batch`).
    """
    single = op.outputs == 1
    arrays = (results,) if single else results
    made = isinstance(arrays[0], Tensor)
    outputs = (
        list(arrays) if made
        else [tensor_of(as_array(array)) for array in arrays] if level is None
        else [new_tensor(array) for array in arrays]
    )  # fmt: skip
    state = modes.state
    if state.records and op.formulas:
        record(op, inputs, outputs, params, level)
    plain = made and not has_class(outputs[0]._array)  # whose views are the record's
    if op.view and not (plain and not shares_memory(inputs[0]._array, outputs[0]._array)):
        link_views(op, inputs[0], outputs, params)
    for forward in state.levels if level is None else level.inner:
        forward.carry(op, inputs, outputs, params)
    for watcher in state.watchers:
        watcher.made(op, inputs, params, outputs)
    return outputs[0] if single else tuple(outputs)


def record(
    op: Op, inputs: tuple[Any, ...], outputs: list[Tensor], params: dict[str, Any], level: Any
) -> None:
    """Give the outputs of a call a node, if an input has one; `level` is as in `finish`."""
    for t in inputs:
        if t is not None and t._node is not None:
            break
    else:
        return
    edges = tuple([
        None if t is None or (level is not None and not level.holds(t)) else node_of(t)
        for t in op.differentiable(inputs)
    ])  # fmt: skip
    if not any(edges):
        return
    node = make_node(op, inputs, edges, [t._array for t in outputs], params)
    if level is not None:
        node.level = level
    set_outputs(node, outputs)
    if op.outputs != 1:
        own = [(k, ~i) for k, i in enumerate(op.table.saved) if i < 0]
        made_so_far = node.cells or {}  # by pack hooks
        for place, i in own:
            outputs[i]._cell = made_so_far.get(place)
        node.cells = {place: cell_of(outputs[i]) for place, i in own}


def set_outputs(node: Node, outputs: Any) -> None:
    """Give the outputs of a node their histories: the node itself, or an `Output` for each."""
    count = node.op.grad_outputs
    if count == 1:
        first = outputs[0]
        node.shape, node.dtype = first._array.shape, first._array.dtype
        first._node = node
        return
    node.layout = tuple((t._array.shape, t._array.dtype) for t in outputs[:count])
    for index, tensor in enumerate(outputs[:count]):
        tensor._node = output_node(node, index, tensor._array.shape, tensor._array.dtype)


def make_node(
    op: Op,
    inputs: tuple[Any, ...],
    edges: tuple[Node | None, ...],
    results: Sequence[Any],
    params: dict[str, Any],
) -> Node:
    """The node of one call: its number, edges, and whatever its formulas name."""
    node = new_node(op, edges)
    if op.saves:
        node.saved = op.keep(edges, inputs, results)
    if op.facts:
        node.params = op.collect(inputs, params)
    if modes.special:
        attach(node)
    return node


def attach(node: Node) -> None:
    """Do to a new node what the calling thread's modes ask: pack saved values, keep the trace."""
    state = modes.state
    if not state.deviates:
        return
    if state.anomaly:
        node.trace = where()
        frames = node.trace.split(FRAME)[1:]
        node.metadata["traceback_"] = [FRAME + frame for frame in frames]
        if state.current_node is not None:
            node.metadata["parent_"] = state.current_node
    if state.saved_hooks and any(value is not None for value in node.saved):
        hooks, saved = state.saved_hooks[-1], node.saved
        outer, state.packing = state.packing, node
        try:
            made = dict(enumerate(saved))
            for place in node.op.read_order(saved):
                if saved[place] is not None and not is_number(saved[place]):
                    made[place] = Packed(node, place, *hooks)
            node.saved = PackedValues(made.values())
        finally:
            state.packing = outer


def is_number(value: Any) -> bool:
    """Whether a saved value stands for a Python number, which no pack hook sees.

    Such a number becomes a read-only 0-d array; no other tensor has one.
    """
    array = value._array if isinstance(value, Tensor) else value
    return array.__class__ is np.ndarray and array.ndim == 0 and not array.flags.writeable


def link_views(op: Op, source: Tensor, outputs: list[Tensor], params: dict[str, Any]) -> None:
    """Tie outputs that share the source's memory to its base, its version and its live views."""
    if op.view == "maybe" and not shares_memory(source._array, outputs[0]._array):
        return
    state = modes.state
    if source._inference:
        for output in outputs:
            output._inference = True
        return
    parent = source._view_of
    base, before = (source, ()) if parent is None else (parent.base, parent.path)
    single = op.outputs == 1
    origin = "plain" if single else "multi"
    if state.inference:
        origin = "inference"
    elif not state.records:
        origin = "no_grad"
    elif parent is not None and parent.origin != "plain" and single:
        origin = parent.origin
    cell = cell_of(source)
    for index, output in enumerate(outputs):
        step = (op, params, None if single else index)
        output._inference = False
        output._cell = cell
        if output._node is not None:
            output._node._cell = cell
        path = (*before, step)
        if parent is not None and len(path) > LONGEST and not (state.levels or parent.roots):
            path = shortened(base, output, path)
        add_view(base, output, path, origin)
        made = output._view_of
        assert made is not None
        if origin in UNRECORDED and base._node is not None:
            dtype = output._array.dtype
            if output._node is None and dtypes.is_differentiable(dtype):
                output._node = leaf_node(output, output._array.shape, dtype)
                output._node.inherited = True
        if parent is not None and parent.roots:
            made.roots = tuple([
                (level, Link(source, (step,), output) if link is None else
                 Link(link.base, (*link.steps(source), step), output))
                for level, link in parent.roots
            ])  # fmt: skip
        if state.anomaly:
            made.trace = where()


def walk(start: Any, path: Any) -> Any:
    """The view that a path of steps leads to from the tensor `start`."""
    for op, params, output in path:
        start = op.call(start, **params)
        if output is not None:
            start = start[output]
    return start


class Stale(Kind):
    """The kind of the nodes of stale views; a parameter, if there is one, is what is wrong."""

    stale = True

    def now(self, tensor: Tensor) -> Node | None:
        """Derive the history of a view from its base's present one, or raise."""
        stale, view = tensor._node, tensor._view_of
        assert stale is not None
        if stale.params:  # also of what is no view any more: `views.sever`
            raise RuntimeError(stale.params[0])
        assert view is not None
        node = derived(tensor)
        with structure:  # another thread may have been first
            if tensor._node is not stale:
                return tensor._node
            tensor._node = node
        enlist(view.base, tensor)
        return node


STALE = Stale("stale", Node)
STALE_VIEW = new_node(STALE, ())  # the node of all stale views whose history can be derived
STALE_VIEW.seq = 0


def derived(tensor: Tensor) -> Node | None:
    """The history of a plain view by the present one of its base."""
    view = tensor._view_of
    assert view is not None
    with modes.Changed(grad=True, inference=False, below=False, levels=(), watchers=()):
        node: Node | None = walk(alias(view.base, view.base._node), view.path)._node
    if node is not None:
        node._cell = tensor._cell
    return node


class PiecewiseBackward0(Node):
    """The node of a derivative that is constant between kinks: it passes on zeros, too."""

    __slots__ = ()


class Tie(Kind):
    """The kind of nodes that hand their cotangent to the first edge, and zeros to the others.

    The zeros have such a history, too: derivatives of every order are there.
    """

    def vjp(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """The cotangent itself, and zeros, which leave the order in memory to what is added."""
        others: Any = node.edges[1:]
        if create_graph:
            zeros = [new_tensor(np.zeros(other.shape, other.dtype)) for other in others]
            return (g, *[tied(zero, others, node.level) for zero in zeros])
        return (g, *[np.broadcast_to(np.zeros((), each.dtype), each.shape) for each in others])


TIE = Tie("tie", PiecewiseBackward0)


def tied(value: Any, nodes: Sequence[Any], level: Any = None) -> Any:
    """`value` with a history that leads to `nodes` as well, by which its derivative is zero.

    In a batched call, `level`, only batches have a history inside (NOTE [Batches] in `batch`).
    """
    state = modes.state
    others = [node for node in nodes if node is not None]
    outside = level is not None and not level.holds(value)
    if not others or outside or not state.records:
        return value
    node = new_node(TIE, (node_of(value), *others))
    node.shape, node.dtype, node.level = value._array.shape, value._array.dtype, level
    if modes.special:
        attach(node)
    return twin(value, node)
