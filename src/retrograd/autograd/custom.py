"""Recording the call of a custom Function: its node, what it saves, how its outputs are returned.

The context, which users see in the node's place, holds the node; the node holds what is in the
context, the dictionary of its attributes, and makes a context around it again when it needs one and
nobody holds the last. So neither keeps the other in a cycle, and whoever holds `grad_fn` keeps the
graph. Saved outputs are kept as arrays (NOTE [No cycles] in `engine.graph`), and what `forward`
marked is dropped once it is recorded.

NOTE [Deep nesting] A `backward` may run backward passes of its own, whose Functions do so again.
Every 32nd level continues in a thread of its own, since Python limits the depth of each thread's
stack; the thread that waits lends it its modes.

This module knows a Function only by its `context.Definition`.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from ..engine.graph import CALLED, LEAF, OUTPUT, Kind, Node, new_node, output_node
from ..engine.inplace import rebase
from ..engine.op import refuse_inference
from ..engine.overriding import is_asked
from ..engine.record import attach
from ..engine.tensor import Tensor, alias, cell_of, new_tensor, node_of, tensor_of, wrote
from ..engine.views import add_view
from ..engine.writable import check_writable
from ..locks import structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .context import BackwardCFunction, Definition, FunctionCtx

AS_IS_SAVED = (
    "An input that has been returned as-is as output is being saved for backward. This is not "
    "supported if you override setup_context. You should return and save a view of the input "
    "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
)
DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The "
    "inputs that are modified inplace must all be outputs of the Function. Add them to what "
    "{name}.forward returns."
)
DIRTY_NOT_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. Clone the input first (x = x.clone()), or split {name} "
    "into one Function that writes and one that computes the other outputs."
)
DIRTY_LEAF = (
    "a leaf Variable that requires grad has been used in an in-place operation. {name} marks it "
    "as dirty; call it on a copy: {name}.apply(x.clone())"
)


LENT = [name for name in modes.State.__annotations__ if name not in ("deviates", "member")]


class FunctionNode(Node):
    """The node of a custom Function's call; users see its context instead.

    `state` holds what the context holds: all contexts made for this node have that dictionary.
    """

    __slots__ = ()

    state: dict[str, Any]
    differentiable: list[bool]  # by output
    shown: Callable[[], FunctionCtx | None]  # a weak reference to the context, if anybody holds one
    histories: tuple[Any, ...]  # by place in `saved`: the value's node, or the output's number

    def _face(self) -> FunctionCtx:
        face: Any = self.shown()
        if face is None:
            made = object.__new__(self.op.function._backward_cls)
            made.__dict__ = self.state
            made._of = self
            with structure:  # the same one in all threads
                face = self.shown()
                if face is None:
                    self.shown, face = weakref.ref(made), made
        return face  # type: ignore[no-any-return]


class FunctionKind(Kind):
    """The kind of all nodes of one Function with a certain number of outputs."""

    takes_undefined = True

    def __init__(self, function: Definition, outputs: int) -> None:
        super().__init__(function._name, function._node_type, outputs)
        self.ordinary = CALLED
        self.function = function

    def history(self, node: Any, place: int) -> Node | None:
        """The node that a saved value had when it was saved."""
        found = node.histories[place]
        if not isinstance(found, int):
            return found  # type: ignore[no-any-return]
        if self.grad_outputs == 1:
            return node  # type: ignore[no-any-return]
        return output_node(node, found, *node.layout[found])

    def vjp(self, node: Any, g: Any, create_graph: bool, needed: Any) -> Any:
        """What the user's `backward` returns, checked, for the tensors among the arguments."""
        parts = (g,) if self.grad_outputs == 1 else g
        ctx = FunctionNode._face(node)
        grads = [
            cotangent(
                part, layout, ctx.materialize_grads and (differs or ctx._materialize_non_diff_grads)
            )
            for part, layout, differs in zip(parts, node.layout, node.differentiable, strict=True)
        ]
        derivative = self.function._derivative()
        state = modes.state
        depth = state.depth
        grad = modes.swap("grad", create_graph and state.grad)
        try:
            state.depth = depth + 1
            if depth % 32 == 31:
                results = in_thread(derivative, ctx, *grads)
            else:
                results = derivative(ctx, *grads)
        finally:
            state.depth = depth
            modes.swap_back("grad", grad)
        results = checked(node, results if isinstance(results, tuple) else (results,))
        if create_graph:
            return results
        return [None if c is None else c._array for c in results]


def in_thread(function: Any, *args: Any) -> Any:
    """What `function(*args)` returns or raises, run in a new thread: NOTE [Deep nesting]."""
    lent = {name: getattr(modes.state, name) for name in LENT}
    result: Any = None
    raised: BaseException | None = None

    def body() -> None:
        nonlocal result, raised
        before = modes.change(**lent)
        try:
            result = function(*args)
        except BaseException as error:
            raised = error
        finally:
            modes.restore(before)

    thread = threading.Thread(target=body)
    try:
        thread.start()
    except RuntimeError:  # there are no threads, as in a browser: the stack has to do
        return function(*args)
    thread.join()
    if raised is not None:
        try:
            raise raised
        finally:
            raised = None  # its traceback holds this frame
    return result


def cotangent(part: Any, layout: Any, materialize: bool) -> Tensor | None:
    """A cotangent as `backward` receives it."""
    if part is None:
        return new_tensor(np.zeros(*layout)) if materialize and layout is not None else None
    return part if isinstance(part, Tensor) else tensor_of(part)


def checked(node: Any, results: tuple[Any, ...]) -> list[Any]:
    """The gradients that a `backward` returned, for its tensor arguments; raise if they misfit."""
    expected = len(node.state["needs_input_grad"])
    found = len(results)
    if found > expected and all(c is None for c in results[expected:]):
        results = results[:expected]
    if len(results) != expected:
        raise RuntimeError(
            f"function {node.name()} returned an incorrect number of gradients (expected "
            f"{expected}, got {found}). backward() returns one gradient or None per argument of "
            "forward()"
        )
    for position, c in enumerate(results):
        if c is None:
            continue
        if position not in node.positions:
            raise RuntimeError(
                f"function {node.name()} returned a gradient different than None at position "
                f"{position + 1}, but the corresponding forward input was not a Variable"
            )
        if not isinstance(c, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(c).__name__})")
    return [results[position] for position in node.positions]


def record(
    cls: Definition,
    ctx: BackwardCFunction,
    args: tuple[Any, ...],
    edges: tuple[Node | None, ...],
    outputs: tuple[Any, ...],
    with_setup: bool,
) -> tuple[Any, ...]:
    """Give the outputs of `forward` their history and save what it asked for."""
    recording = edges.count(None) < len(edges)
    saved = ctx.to_save
    for tensor in ctx.dirty_tensors:  # `forward` wrote them, whatever is wrong with the marks
        wrote(tensor, cls._name)
    if ctx.dirty_tensors:
        check_dirty(cls, ctx, args, outputs, recording)
    if recording and with_setup:
        for tensor in outputs:
            if among(tensor, args) and among(tensor, saved) and not _is_dirty(tensor, ctx):
                raise RuntimeError(AS_IS_SAVED)
    made: list[Any] = list(outputs)
    differentiable = [recording and _wants_history(tensor, ctx) for tensor in outputs]
    node: Any = None
    if recording:
        node = new_node(cls._kind(len(outputs)), edges)
        node.state, node.shown = ctx.__dict__, weakref.ref(ctx)
        node.histories, node.hooks = (), ctx._hooks
        if ctx._metadata is not None:
            node.__dict__["_metadata"] = ctx._metadata
        node.positions = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
        node.differentiable = differentiable
        node.layout = tuple(
            [(t._array.shape, t._array.dtype) if isinstance(t, Tensor) else None for t in outputs]
        )
        ctx._of = node
    origin = "multi" if sum(differentiable) > 1 else "custom"
    for index, tensor in enumerate(outputs):
        if isinstance(tensor, Tensor):
            history = _history(node, index) if differentiable[index] else None
            made[index] = with_history(tensor, history, ctx, args, origin, recording)
    if node is not None:
        save(node, saved)
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
    return tuple(made)


def among(tensor: Any, values: Sequence[Any]) -> bool:
    """Whether a tensor is one of several values."""
    if isinstance(tensor, Tensor):
        for value in values:  # `in` would compare elements
            if value is tensor:
                return True
    return False


def _is_dirty(tensor: Any, ctx: FunctionCtx) -> bool:
    return among(tensor, ctx.dirty_tensors)


def _wants_history(tensor: Any, ctx: FunctionCtx) -> bool:
    return (
        isinstance(tensor, Tensor)
        and tensor._array.dtype.kind in "fcV"
        and not among(tensor, ctx.non_differentiable)
    )


def _history(node: Any, index: int) -> Node:
    shape, dtype = node.layout[index]
    if node.op.grad_outputs == 1:
        node.shape, node.dtype = shape, dtype
        return node  # type: ignore[no-any-return]
    return output_node(node, index, shape, dtype)


def check_dirty(
    cls: Definition,
    ctx: FunctionCtx,
    args: tuple[Any, ...],
    outputs: tuple[Any, ...],
    recording: bool,
) -> None:
    """Raise where the marks of `mark_dirty` break a rule."""
    several = sum(isinstance(t, Tensor) for t in outputs) > 1
    for tensor in ctx.dirty_tensors:
        if not among(tensor, outputs):
            raise RuntimeError(DIRTY_NOT_RETURNED.format(name=cls._name))
        if not among(tensor, args):
            warnings.warn(DIRTY_NOT_INPUT, UserWarning, stacklevel=4)
        elif recording:
            if tensor._view_of is not None and several:
                raise RuntimeError(DIRTY_VIEW.format(name=cls._name))
            if tensor._node is not None and tensor._node.op is LEAF:
                raise RuntimeError(DIRTY_LEAF.format(name=cls._name))
            check_writable(tensor, cls._name + ".apply", True)


def with_history(
    tensor: Tensor,
    history: Node | None,
    ctx: FunctionCtx,
    args: tuple[Any, ...],
    origin: str,
    recording: bool,
) -> Tensor:
    """An output as `apply` returns it: the tensor itself where possible, else an alias of it.

    An input that was not written cannot get another history, so a view of it is returned instead.
    """
    given, dirty = among(tensor, args), _is_dirty(tensor, ctx)
    if tensor._node is not None and tensor._node.inherited and not given:
        if not recording:
            return tensor  # as any view made where nothing is recorded
        tensor._node = None  # it was made by `forward`, which records nothing
    if history is None:
        if tensor._node is not None:
            return alias(tensor, None)
        if given and not dirty:
            return as_view(tensor, None, origin)
        if tensor._view_of is not None and not dirty:
            tensor._view_of.origin = origin
        return tensor
    if given and dirty:
        rebase(tensor, history)
        return tensor
    if given:
        return as_view(tensor, history, origin)
    if tensor._node is not None and tensor._node.op is LEAF:  # somebody else's parameter
        tensor = alias(tensor, None)
    tensor._node = history
    if tensor._view_of is not None:
        tensor._view_of.origin = origin
    return tensor


def as_view(tensor: Tensor, history: Node | None, origin: str) -> Tensor:
    """A view of the whole of `tensor` with another history, in its class."""
    if is_asked(type(tensor)):
        with modes.Changed(grad=False):
            view = tensor.view_as(tensor)
        view._node = history
        if view._view_of is not None:
            view._view_of.origin = origin
        return view
    view = alias(tensor, history)
    if tensor._inference:
        view._inference = True
        return view
    parent = tensor._view_of
    base, path = (tensor, ()) if parent is None else (parent.base, parent.path)
    add_view(base, view, path, origin)
    return view


def history_of(tensor: Tensor) -> Node | None:
    """The node that leads to a tensor's history; of a lost view the stale node, which raises."""
    node = tensor._node
    return node if node is not None and node.params and node.op.stale else node_of(tensor)


def save(node: Any, saved: tuple[Tensor | None, ...]) -> None:
    """Put what `save_for_backward` was given into the node, its own outputs as bare arrays."""
    values: list[Any] = []
    node.cells = {}
    histories: list[Any] = []
    for place, tensor in enumerate(saved):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {place} is of type "
                f"{type(tensor).__name__}. Keep other values as attributes: ctx.value = ..."
            )
        history = None if tensor is None else history_of(tensor)
        own = history is node or (
            history is not None and history.op is OUTPUT and history.edges[0] is node
        )
        if tensor is None or not own:
            refuse_inference(tensor)
            values.append(tensor)
            histories.append(history)
            continue
        node.cells[place] = cell_of(tensor)
        values.append(tensor._array)
        assert history is not None
        histories.append(0 if history is node else history.params[0])
    node.saved, node.histories = tuple(values), tuple(histories)
    if modes.special:
        attach(node)
