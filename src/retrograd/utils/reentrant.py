"""The re-entrant checkpoint: a Function whose backward starts a backward pass of its own.

The forward runs without recording. The backward runs the function again, on leaves in place of its
arguments, and a whole pass through that: leaves inside the function accumulate there and then. So
it cannot serve a pass that goes to certain tensors only, nor one whose result is differentiated.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from .. import modes
from ..autograd.custom import FunctionKind
from ..autograd.function import Function
from ..autograd.grad import backward
from ..engine.tensor import Tensor
from ..ops.random.generator import fork_rng, get_rng_state, set_rng_state

__all__ = ["CheckpointFunction", "check_backward_validity", "detach_variable"]

NONE_REQUIRES_GRAD = (
    "None of the inputs have requires_grad=True. Gradients will be None. With use_reentrant=False "
    "the parameters inside the function get theirs all the same."
)
NOT_WHOLE = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
    "`inputs` parameter to .backward(). To resolve this error, you can either set "
    "use_reentrant=False, or call .backward() without passing the `inputs` argument."
)
NOTHING_TO_DO = "none of output has requires_grad=True, this checkpoint() is not necessary"


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn unless a tensor among `inputs` requires grad.

    >>> rg.utils.checkpoint.check_backward_validity([rg.ones(1, requires_grad=True)])
    """
    if not any(t.requires_grad for t in inputs if isinstance(t, Tensor)):
        warnings.warn(NONE_REQUIRES_GRAD, UserWarning, stacklevel=2)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors among `inputs` as leaves that require grad where the tensors do; others as is.

    Raises RuntimeError for anything but a tuple.

    >>> x = rg.ones(1, requires_grad=True) * 2
    >>> rg.utils.checkpoint.detach_variable((x, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs
    )


class WholePass(FunctionKind):
    """The kind of a re-entrant checkpoint's nodes: they run only where all leaves accumulate."""

    def vjp(self, node: Any, g: Any, create_graph: bool, needed: Any) -> Any:
        """What `backward` returns; raises RuntimeError in a pass to certain tensors."""
        if needed is not None:
            raise RuntimeError(NOT_WHOLE)
        return super().vjp(node, g, create_graph, needed)


class CheckpointFunction(Function):
    """The re-entrant checkpoint: `apply(function, preserve_rng_state, *args)`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> y = rg.utils.checkpoint.CheckpointFunction.apply(lambda x: x.exp(), True, x)
    >>> y.sum().backward(); x.grad
    tensor([2.7183, 2.7183])
    """

    _made_of = WholePass

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function, keep its arguments and the random state."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = get_rng_state() if preserve_rng_state else None
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Run the function again on leaves, and a backward pass through that."""
        tensors = ctx.saved_tensors
        given = [a if t is None else t for a, t in zip(ctx.inputs, tensors, strict=True)]
        inputs = detach_variable(tuple(given))
        with fork_rng(enabled=ctx.state is not None):
            if ctx.state is not None:
                set_rng_state(ctx.state)
            before = modes.change(grad=True)
            try:
                outputs = ctx.run_function(*inputs)
            finally:
                modes.restore(before)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (t, g)
            for t, g in zip(outputs, args, strict=True)
            if isinstance(t, Tensor) and t.requires_grad
        ]
        if not pairs:
            raise RuntimeError(NOTHING_TO_DO)
        backward([t for t, _ in pairs], [g for _, g in pairs])
        return (None, None, *[t.grad if isinstance(t, Tensor) else None for t in inputs])
