"""Functions with a derivative written by the user: `autograd.Function`.

What `forward` and `backward` share is in `context`, how a call is recorded in `custom`.

This module knows no operation by name.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from .. import modes, version
from ..engine.graph import Kind, Node, new_node
from ..engine.tensor import Tensor, alias, node_of
from .context import BackwardCFunction, FunctionCtx
from .custom import FunctionKind, FunctionNode, among, record
from .transformed import has_batch, on_batches, push_tangents

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction",
    "once_differentiable",
]  # fmt: skip

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
WITH_CTX = (
    "{}. forward gets ctx first, then what apply got: def forward(ctx, x). Or define "
    "setup_context(ctx, inputs, output): then forward gets no ctx"
)
WITHOUT_CTX = "{}. In a Function with setup_context, forward gets no ctx: def forward(x)"
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class Function(FunctionCtx):
    """The base class of functions for which you write the derivative yourself.

    A subclass has static methods: `forward(ctx, *args)`, or `forward(*args)` with
    `setup_context(ctx, inputs, output)`; and `backward(ctx, *grad_outputs)`, also called `vjp`,
    which returns one gradient (or None) per argument. For a real loss L and a
    complex z = x + iy, the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest
    ascent. `apply(*args)` calls it. Source: PyTorch's `autograd.Function`.

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

    `func.vmap` runs it on all examples at once if there is a `setup_context`, and
    `generate_vmap_rule` is True or there is a static method `vmap(info, in_dims, *args)`, which
    returns the output and its batch dimension.

    >>> class Cube(rg.autograd.Function):
    ...     generate_vmap_rule = True
    ...     @staticmethod
    ...     def forward(x):
    ...         return x**3
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         ctx.save_for_backward(*inputs)
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * grad_output
    >>> rg.func.vmap(rg.func.grad(Cube.apply))(rg.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """

    _name: ClassVar[str]
    _node_type: ClassVar[type[Node]]
    _backward_cls: ClassVar[type[BackwardCFunction]]
    _kinds: ClassVar[dict[int, FunctionKind]]
    _made_of: ClassVar[type[FunctionKind]] = FunctionKind
    generate_vmap_rule: ClassVar[bool] = False
    clear_saved_tensors_on_access: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        module = {"__module__": f"{version.called}.autograd.function"}
        name = cls.__name__ + "Backward"
        cls._node_type = type(name, (FunctionNode,), {"__slots__": (), **module})
        cls._backward_cls = type(
            name, (BackwardCFunction,), {"__slots__": (), "_forward_cls": cls, **module}
        )
        cls._name, cls._kinds = cls.__name__, {}

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
    def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any:
        """The gradient for each argument, given one cotangent per output."""
        raise NotImplementedError(NO_BACKWARD)

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any:
        """The tangent of each output, given one tangent (or None) per argument."""
        raise NotImplementedError(NO_JVP)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
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
        if cls is Function:
            raise NotImplementedError(NO_FORWARD)
        with_setup = cls.setup_context is not Function.setup_context
        if kwargs or (with_setup and _has_defaults(cls.forward)):
            args, kwargs = bind(cls, args, kwargs, with_setup)
        levels, inside = modes.state.levels, None
        if modes.special and has_batch((args, kwargs)):
            output, inside = on_batches(cls, args, kwargs, with_setup)
            if inside is None:
                return output
        ctx = cls._backward_cls()
        ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a._node is not None for a in args])
        recording = modes.state.records
        edges = tuple([node_of(a) for a in args if isinstance(a, Tensor)]) if recording else ()
        if inside is not None and recording:
            edges = inside.edges
        paused = modes.state.paused
        before: Any = modes.change(grad=False, levels=()) if levels else modes.swap("grad", False)
        try:
            modes.state.paused = levels
            if with_setup:
                if inside is None:
                    output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        except TypeError as error:
            trace, own = error.__traceback__, str(error).startswith(f"{cls.forward.__qualname__}(")
            if trace is None or trace.tb_next is not None or not own:  # it comes from elsewhere
                raise
            raise TypeError((WITHOUT_CTX if with_setup else WITH_CTX).format(error)) from None
        finally:
            modes.state.paused = paused
            if levels:
                modes.restore(before)
            else:
                modes.swap_back("grad", before)
        several = isinstance(output, tuple)
        outputs, marks = output if several else (output,), ctx.non_differentiable
        made = record(cls, ctx, args, edges, outputs, with_setup)
        if inside is not None:
            levels = inside.levels
        if levels:
            marked = [place for place, out in enumerate(outputs) if among(out, marks)]
            push_tangents(ctx, args, made, marked, levels)
        ctx.saved_for_forward = ()
        return made if several else made[0]

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
            found = cls._kinds[outputs] = cls._made_of(cls, outputs)
        return found


class InplaceFunction(Function):
    """A Function that writes its input, in programs written for old PyTorch; see `mark_dirty`."""


class NestedIOFunction(Function):
    """PyTorch's deprecated base class for nested containers; here it cannot be called.

    Write a Function that takes and returns flat tensors, and flatten the containers around it.
    """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: see the class."""
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

    def vjp(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """Raise: this derivative does not exist."""
        raise RuntimeError(*node.params)


class DelayedErrorNode(Node):
    """The node behind what a backward marked `once_differentiable` returned."""

    __slots__ = ()
    full_name = "torch::autograd::Error"  # as in PyTorch, like its name there


DelayedErrorNode.__name__ = "Error"
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
        if not modes.state.records:
            return outputs
        edges = tuple([node_of(a) for a in args if isinstance(a, Tensor)])
        if all(edge is None for edge in edges):
            return outputs
        several = isinstance(outputs, tuple)
        made = [delayed(t, edges, TWICE) for t in (outputs if several else (outputs,))]
        return tuple(made) if several else made[0]

    return wrapper


def delayed(tensor: Any, edges: tuple[Node | None, ...], message: str) -> Any:
    """A tensor whose cotangent raises RuntimeError; anything else as it is."""
    if not isinstance(tensor, Tensor):
        return tensor
    node = new_node(DELAYED_ERROR, edges)
    node.shape, node.dtype = tensor._array.shape, tensor._array.dtype
    node.params = (message,)
    return alias(tensor, node)
