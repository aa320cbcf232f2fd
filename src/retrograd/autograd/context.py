"""The context of a custom Function's call: what `forward` and `backward` share.

NOTE [Context and node]
1. Users keep on the context what they like under any name; it is also what they see as
   `y.grad_fn`. The node in the graph is another object, so that `ctx.shape = x.shape` cannot
   disturb the engine.
2. How a call is recorded is in `custom`.

This module knows no operation by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .. import modes
from ..engine.backward.hooks import NodeHooks, RemovableHandle, hooks_of
from ..engine.graph import FREED, Node
from ..engine.saved import SavedTensor, freed_error, tensors
from ..engine.tensor import Tensor
from ..errors import check_bool
from .graph import Node as GraphNode

CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function. Read them once: a, b = ctx.saved_tensors"
)


class Definition(Protocol):
    """What contexts, recording and transforms know of a custom Function."""

    _name: str
    _node_type: type[Node]
    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule: bool
    clear_saved_tensors_on_access: bool

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Function and record it."""

    def _derivative(self) -> Callable[..., Any]: ...
    def _kind(self, outputs: int) -> Any: ...

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The Function's own `forward`."""

    def setup_context(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """The Function's own `setup_context`."""

    def jvp(self, *grad_inputs: Any, **kwargs: Any) -> Any:
        """The Function's own `jvp`."""

    def vmap(self, info: Any, *args: Any, **kwargs: Any) -> Any:
        """The Function's own `vmap`."""


class FunctionCtx:
    """What `forward` hands to `backward`: saved tensors, marks, and attributes of the user's own.

    `needs_input_grad` says for each argument of `apply` whether a gradient is wanted for it.
    """

    materialize_grads: bool = True
    _materialize_non_diff_grads: bool = True  # also for outputs without a derivative
    to_save: tuple[Tensor | None, ...] = ()
    saved_for_forward: tuple[Tensor | None, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    _hooks: NodeHooks | None = None  # those registered in `forward`, before there is a node
    _metadata: dict[Any, Any] | None = None
    _cleared: bool = False  # whether the saved tensors were given, and dropped by that
    _forward_cls: Definition
    lent: tuple[Tensor | None, ...] | None = None  # what `jvp` reads as `saved_tensors`

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of `apply`, whether a gradient is wanted; in `backward`, by this pass.

        Asked of the pass, not stored for it: passes in several threads may share the node.
        """
        recorded: tuple[bool, ...] = self.__dict__.get("needs_input_grad", ())
        task: Any = modes.state.current_pass
        node = None if task is None or task.needed is None else self._node()
        if node is None or task.node is not node:
            return recorded
        return still_wanted(node, recorded, task.needed)

    @needs_input_grad.setter
    def needs_input_grad(self, value: tuple[bool, ...]) -> None:
        self.__dict__["needs_input_grad"] = value

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep input or output tensors (or None) for `backward`; read them as `saved_tensors`.

        A saved tensor that is written afterwards raises an error when it is read. Anything else
        than a tensor is a TypeError once `forward` is recorded: keep that as an attribute of `ctx`.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for `jvp`, which reads them as `saved_tensors`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` wrote in place; all of them must be returned."""
        _check_tensors("mark_dirty can only accept variables", tensors)
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative; `backward` still receives zeros for them."""
        _check_tensors("mark_non_differentiable only accepts variable arguments", tensors)
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` receives zeros (True, the default) or None where nothing arrived."""
        check_bool(value, "set_materialize_grads", "value")
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What `save_for_backward` kept, checked against later writes; () inside `forward`.

        Raises VersionError after a write, SecondBackwardError after the graph was freed. They are
        given once, and dropped by that, where the Function says `clear_saved_tensors_on_access`.
        """
        if self.lent is not None:
            return self.lent  # type: ignore[return-value]  # None only where None was saved
        node: Any = self._node()
        if node is None:
            return ()
        if self._cleared:
            raise RuntimeError(CLEARED)
        found = tuple(tensors(node))
        if self._forward_cls.clear_saved_tensors_on_access:
            node.saved, self._cleared = (), True
        return found

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """Deprecated name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def _node(self) -> Node | None:
        """The node that this context stands for, once the call is recorded."""
        return None

    def name(self) -> str:
        """The name of the node's type, `<Function>Backward`."""
        return type(self).__name__

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        node: Any = self._node()
        if node is None:
            return ()
        if node.saved is FREED:
            raise freed_error(node)
        return tuple(SavedTensor(node, place) for place in range(len(node.saved)))

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The node's edges, as `Node.next_functions`; () inside `forward`."""
        node = self._node()
        return () if node is None else node.next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes, as `Node.metadata`."""
        node = self._node()
        if node is not None:
            return node.metadata
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after `backward`, as `Node.register_hook`."""
        return self._own_hooks().post.add(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before `backward`, as `Node.register_prehook`."""
        return self._own_hooks().before.add(fn)

    def maybe_clear_saved_tensors(self) -> None:
        """In a backward pass that does not retain the graph, free the saved tensors now."""
        node, task = self._node(), modes.state.current_pass
        if node is not None and task is not None and not task.retain_graph:
            node.saved = FREED

    def _own_hooks(self) -> NodeHooks:
        node = self._node()
        if node is not None:
            return hooks_of(node)
        if self._hooks is None:
            self._hooks = NodeHooks()
        return self._hooks

    def _sequence_nr(self) -> int:
        node = self._node()
        return 0 if node is None else node.seq

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        node: Any = self._node()
        return () if node is None else node._input_metadata


def still_wanted(node: Any, recorded: Sequence[bool], needed: set[Node]) -> tuple[bool, ...]:
    """Which gradients a pass wants that runs only the nodes in `needed`."""
    wanted = list(recorded)
    for position, edge in zip(node.positions, node.edges, strict=True):
        wanted[position] = edge in needed
    return tuple(wanted)


def _check_tensors(rule: str, values: Sequence[Any]) -> None:
    for index, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{rule}, but argument {index} is of type {type(value).__name__}")


class BackwardCFunction(FunctionCtx):
    """The context of one call of a Function: what `forward` receives, and what `grad_fn` shows."""

    __slots__ = ("_of",)

    _of: Node | None
    requires_grad = True  # as `Node` has it

    def __init__(self) -> None:
        self._of = None

    def _node(self) -> Node | None:
        return self._of

    def apply(self, *grad_outputs: Any) -> Any:
        """What the Function's `backward` returns for these cotangents."""
        return self._forward_cls._derivative()(self, *grad_outputs)


for kind in (FunctionCtx, BackwardCFunction):
    GraphNode.register(kind)
