"""`custom_gradient`: functions that come with their own gradient, by TensorFlow's protocol.

NOTE [Second derivatives] The function runs on its arguments as they are, with their histories, and
its results are then given another: a node that calls the user's gradient. So what that closes over
still leads to the arguments, and the gradient can be differentiated.

NOTE [Forward mode] The user's gradient is linear in the cotangents; differentiating it by them
transposes it, which gives the tangents.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import modes, pytree
from ..autograd.function import Function
from ..autograd.functional.parts import filled, pulled, zeros
from ..engine.dispatch import OPERANDS
from ..engine.tensor import Tensor, new_tensor
from .recording import Recording

__all__ = ["custom_gradient"]

TAKES_VARIABLES = (
    "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
    "'variables' keyword argument: def grad_fn(upstream, variables): return grads, "
    "variable_grads. {name} uses {count} of them."
)


class Given(Function):
    """The results of a function under a node that calls the gradient given with them."""

    @staticmethod
    def forward(ctx: Any, pull: Any, results: Sequence[Tensor], *inputs: Tensor) -> Any:
        ctx.pull, ctx.layouts = pull, [(r._array.shape, r._array.dtype) for r in results]
        return tuple([r if any(r is x for x in inputs) else r.detach() for r in results])

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        return (None, None, *ctx.pull(*upstream))

    @staticmethod
    def jvp(ctx: Any, _pull: Any, _results: Any, *tangents: Tensor) -> Any:
        create_graph = modes.state.grad
        with modes.Changed(grad=True):
            upstream = zeros([new_tensor(np.empty(*layout)) for layout in ctx.layouts])
            rows = ctx.pull(*upstream)
            pairs = [(r, t) for r, t in zip(rows, tangents, strict=True) if r is not None]
            chosen, along = [r for r, _ in pairs], [t for _, t in pairs]
            found = pulled(chosen, upstream, along, create_graph)
        return filled(found, upstream, "", create_graph)


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """A decorator: `f` returns its result, and a function that computes the gradient.

    f: takes tensors, numbers or nested structures of them, and returns (result, grad_fn).
    `grad_fn(*upstream)` gets a cotangent for each tensor of the result and returns one gradient, or
    None, for each tensor, array or number among the positional arguments of `f`. If `f` uses
    variables (leaves that require grad, beside its arguments), it is called as
    `grad_fn(*upstream, variables=[...])` and returns (gradients, gradients of the variables).
    Keyword arguments have no gradient. Cotangents of complex results are in PyTorch's convention.
    Second derivatives are those of what `grad_fn` computes.

    Raises TypeError where `f` returns something else or `grad_fn` does not take `variables`, in the
    backward pass ValueError for another number of gradients. Source: TensorFlow's
    `custom_gradient`.

    >>> @rg.custom_gradient
    ... def log1pexp(x):
    ...     e = x.exp()
    ...     return (1 + e).log(), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> x = rg.tensor(100.0, requires_grad=True)
    >>> log1pexp(x).backward(); x.grad
    tensor(1.)
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        seen = Recording()
        with modes.Changed(tapes=(*modes.state.tapes, seen)):
            returned = f(*args, **kwargs)
        if not (isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1])):
            raise TypeError(
                f"custom_gradient: {f.__name__} must return (result, grad_fn), got "
                f"{type(returned).__name__}"
            )
        result, grad_fn = returned
        operands = [x for x in pytree.flatten(args) if isinstance(x, OPERANDS)]
        passed = {id(x) for x in pytree.flatten((args, kwargs))}
        variables = [v for v in seen.variables() if id(v) not in passed]
        if variables and not takes_variables(grad_fn):
            raise TypeError(TAKES_VARIABLES.format(name=f.__name__, count=len(variables)))
        pull = functools.partial(checked, f.__name__, grad_fn, operands, variables)
        inputs = [x for x in operands if isinstance(x, Tensor)]
        outputs = Given.apply(pull, pytree.flatten(result), *inputs, *variables)
        return pytree.unflatten(result, outputs)

    return decorated


def takes_variables(grad_fn: Callable[..., Any]) -> bool:
    """Whether a function can be called with the keyword `variables`."""
    parameters = inspect.signature(grad_fn).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def checked(
    name: str,
    grad_fn: Callable[..., Any],
    operands: Sequence[Any],
    variables: Sequence[Tensor],
    *upstream: Tensor,
) -> list[Any]:
    """The gradients that `grad_fn` gives for the tensors among the operands and the variables."""
    found: Any = grad_fn(*upstream, variables=variables) if variables else grad_fn(*upstream)
    found, of_variables = found if variables else (found, ())
    grads, others = pytree.flatten(found), pytree.flatten(of_variables)
    if len(grads) != len(operands):
        raise ValueError(
            f"custom_gradient function expected to return {len(operands)} gradients, but returned "
            f"{len(grads)} instead. The grad_fn of {name} gives one, or None, for each argument"
        )
    if len(others) != len(variables):
        raise ValueError(
            "Must return gradient for each variable from @custom_gradient grad_fn: that of "
            f"{name} returned {len(others)} for {len(variables)} variables"
        )
    kept = [g for g, x in zip(grads, operands, strict=True) if isinstance(x, Tensor)]
    return [*kept, *others]
