"""Functions with a derivative written by the user: `autograd.Function`.

NOTE [Context and node]
1. `forward` and `backward` share a context, on which users keep what they like under any name; it
   is also what they see as `y.grad_fn`. The node in the graph is another object, so that
   `ctx.shape = x.shape` cannot disturb the engine.
2. How a call is recorded is in `custom`.

This module knows no operation by name.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any

from .. import modes
from ..engine.graph import FREED, Kind, Node, new_node
from ..engine.hooks import NodeHooks, RemovableHandle, hooks_of
from ..engine.saved import SavedTensor, handle, tensors
from ..engine.tensor import Tensor, alias, node_of
from .custom import FunctionKind, FunctionNode, record, still_wanted
from .graph import Node as GraphNode
from .transformed import is_batched, on_batches, push_tangents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]

LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method: call {name}.apply(...), not {name}()(...)"
)
INSTANTIATED = (
    "{cls} should not be instantiated. Methods on autograd functions are all static, so you should "
    "invoke them on the class itself: {name}.apply(...)"
)
NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use "
    "it with backward mode AD."
)
NO_JVP = (
    "You must implement the jvp function for custom autograd.Function to use it with forward mode "
    "AD."
)
NO_VMAP = (
    "To use autograd.Function with vmap, you must either override the vmap static method or set "
    "generate_vmap_rule=True. (func.vmap needs neither: without, it calls the Function once per "
    "example.)"
)
BOTH = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
    "implement one of them."
)
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class FunctionCtx:
    """What `forward` hands to `backward`: saved tensors, marks, and attributes of the user's own.

    `needs_input_grad` says for each argument of `apply` whether a gradient is wanted for it.
    """

    materialize_grads: bool = True
    to_save: tuple[Tensor | None, ...] = ()
    saved_for_forward: tuple[Tensor | None, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    _hooks: NodeHooks | None = None  # those registered in `forward`, before there is a node
    _metadata: dict[Any, Any] | None = None
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
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept, checked against later writes; () inside `forward`.

        Raises VersionError after a write, SecondBackwardError after the graph was freed.
        """
        if self.lent is not None:
            return self.lent
        node = self._node()
        return () if node is None else tuple(tensors(node))

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
        return tuple(handle(node, place) for place in range(len(node.histories)))

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


def _check_tensors(rule: str, values: Sequence[Any]) -> None:
    for index, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{rule}, but argument {index} is of type {type(value).__name__}")


class BackwardCFunction(FunctionCtx):
    """The context of one call of a Function: what `forward` receives, and what `grad_fn` shows."""

    __slots__ = ("_of",)

    _forward_cls: type[Function]
    _of: Node | None

    def __init__(self) -> None:
        self._of = None

    def _node(self) -> Node | None:
        return self._of

    def apply(self, *grad_outputs: Any) -> Any:
        """What the Function's `backward` returns for these cotangents."""
        return self._forward_cls._derivative()(self, *grad_outputs)


for kind in (FunctionCtx, BackwardCFunction):
    GraphNode.register(kind)


class Function(FunctionCtx):
    """Base class of functions whose derivative is written by hand.

    A subclass has static methods: `forward(ctx, *args)`, or `forward(*args)` with
    `setup_context(ctx, inputs, output)`; and `backward(ctx, *grad_outputs)`, also called `vjp`,
    which returns one gradient (or None) per argument. For complex values a gradient is ∂L/∂z*.
    `apply(*args)` calls it. Source: PyTorch's `autograd.Function`.

    >>> import retrograd as rg
    >>> class Square(rg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad_output
    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> y = Square.apply(x)
    >>> y.backward(); x.grad
    tensor(6.)
    """

    _node_type: type[Node]
    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False
    _kinds: dict[int, FunctionKind]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name, module = cls.__name__ + "Backward", {"__module__": cls.__module__}
        cls._node_type = type(name, (FunctionNode,), {"__slots__": (), **module})
        cls._backward_cls = type(
            name, (BackwardCFunction,), {"__slots__": (), "_forward_cls": cls, **module}
        )
        cls._kinds = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = type(self)
        text = INSTANTIATED.format(cls=cls, name=cls.__name__)
        warnings.warn(text, DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: functions are called by `apply`."""
        raise RuntimeError(LEGACY.format(name=type(self).__name__))

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs, without recording; to be written by the subclass."""
        raise NotImplementedError(NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill `ctx` for `backward`, given what `forward` received and returned."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradient for each argument, given one cotangent per output."""
        raise NotImplementedError(NO_BACKWARD)

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangent of each output, given one tangent (or None) per argument."""
        raise NotImplementedError(NO_JVP)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The outputs for a batch of arguments, and their batch dimensions."""
        raise NotImplementedError(NO_VMAP)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it.

        Gradients flow to the tensors among the arguments, not to tensors inside lists or other
        containers. Arguments given by keyword count as positional ones, and with `setup_context`
        so do the defaults of the others; what `forward` takes by keyword only is handed to it, and
        a tensor that requires grad is a TypeError there.
        """
        with_setup = cls.setup_context is not Function.setup_context
        if kwargs or (with_setup and _has_defaults(cls.forward)):
            args, kwargs = bind(cls, args, kwargs, with_setup)
        levels = modes.state.levels
        if modes.special and is_batched(args):
            return on_batches(cls, args)
        ctx = cls._backward_cls()
        ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a._node is not None for a in args])
        recording = modes.state.grad and not modes.state.inference
        edges = tuple([node_of(a) for a in args if isinstance(a, Tensor)]) if recording else ()
        before = modes.change(grad=False, levels=())
        try:
            if with_setup:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        finally:
            modes.restore(before)
        several = isinstance(output, tuple)
        outputs = output if several else (output,)
        outputs = record(cls, ctx, args, edges, outputs, with_setup)
        if levels:
            push_tangents(ctx, args, outputs, levels)
        ctx.saved_for_forward = ()
        return outputs if several else outputs[0]

    @classmethod
    def _derivative(cls) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(BOTH)
        return cls.vjp

    @classmethod
    def _kind(cls, outputs: int) -> FunctionKind:
        found = cls._kinds.get(outputs)
        if found is None:
            found = cls._kinds[outputs] = FunctionKind(cls, outputs)
        return found


class InplaceFunction(Function):
    """A Function that writes its input, in programs written for old PyTorch; see `mark_dirty`."""


class NestedIOFunction(Function):
    """PyTorch's deprecated base class for nested containers; here it cannot be called.

    Write a Function that takes and returns flat tensors, and flatten the containers around it.
    """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            f"{cls.__name__}: NestedIOFunction is deprecated and not supported. Derive from "
            "autograd.Function, and pass the tensors of the containers one by one."
        )


@functools.cache
def _has_defaults(forward: Callable[..., Any]) -> bool:
    parameters = inspect.signature(forward).parameters.values()
    return any(parameter.default is not parameter.empty for parameter in parameters)


def bind(
    cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], with_setup: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of `forward` by position, as far as it takes them so, and the others by name.

    Without `setup_context`, defaults are filled in only before arguments that were given.
    """
    signature = inspect.signature(cls.forward)
    if with_setup:
        bound, first, last = signature.bind(*args, **kwargs), 0, None
        bound.apply_defaults()
    else:
        bound, first = signature.bind(None, *args, **kwargs), 1
        given = set(bound.arguments)
        bound.apply_defaults()
        named = [i for i, name in enumerate(bound.arguments) if name in given]
        last = max(1 + len(args), *(i + 1 for i in named if i < len(bound.args)))
    for name, value in bound.kwargs.items():
        if isinstance(value, Tensor) and value.requires_grad:
            raise TypeError(
                f"{cls.__name__}.forward takes the tensor {name!r} by keyword only, and no "
                "gradient can be returned for it. Let forward take it by position"
            )
    return bound.args[first:last], bound.kwargs


class DelayedError(Kind):
    """The kind of nodes that raise when a cotangent reaches them."""

    def shares(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """Raise: this derivative does not exist."""
        raise RuntimeError(TWICE)


class DelayedErrorNode(Node):
    """The node behind what a backward marked `once_differentiable` returned."""

    __slots__ = ()


DelayedErrorNode.__name__ = "DelayedError"
DELAYED_ERROR = DelayedError("delayed_error", DelayedErrorNode)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose result must not be differentiated again: that raises an error.

    Without the mark, `create_graph=True` differentiates the operations inside `backward`.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        before = modes.change(grad=False)
        try:
            outputs = fn(ctx, *args)
        finally:
            modes.restore(before)
        if not modes.state.grad:
            return outputs
        edges = tuple([node_of(a) for a in args if isinstance(a, Tensor)])
        if all(edge is None for edge in edges):
            return outputs
        several = isinstance(outputs, tuple)
        made = [_delayed(t, edges) for t in (outputs if several else (outputs,))]
        return tuple(made) if several else made[0]

    return wrapper


def _delayed(tensor: Any, edges: tuple[Node | None, ...]) -> Any:
    if not isinstance(tensor, Tensor):
        return tensor
    made = alias(tensor, new_node(DELAYED_ERROR, edges))
    assert made._node is not None
    made._node.shape, made._node.dtype = made._array.shape, made._array.dtype
    return made
