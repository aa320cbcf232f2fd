"""Functions of arrays, recorded: what every operator of this package stands on.

NOTE [HIPS's conventions]
1. A function gets boxes for the arrays and floats among its arguments, however deep in lists,
   tuples and dictionaries. Integers, strings and the like stay what they are there; an array of
   integers that is itself the argument counts as one of floats.
2. Results are NumPy's arrays, unless a gradient or a tangent is being taken around: then they are
   boxes, and what is computed of them is recorded in turn.
3. The gradient of a real function of a complex z = a + ib is df/da - i df/db, the conjugate of
   PyTorch's. So gradients, on the way in and out, are conjugated.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import func, pytree
from ...autograd import enable_grad
from ...autograd import grad as gradients
from ...ops import conj, zeros_like
from .boxes import ArrayBox, boxed, plain, tensor_of

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["Recording", "finished", "forward", "tracing"]

NOT_DIFFERENTIABLE = (
    "Can't differentiate w.r.t. type {kind}: expected a float, a complex number, an array of them, "
    "or a list, tuple or dictionary. Pass a float, as in grad(f)(3.0)."
)
OTHER_SHAPE = (
    "The cotangent has shape {given}, but the function's result has shape {wanted}. Pass one "
    "of the result's shape, as in vjp(np.ones({wanted}))."
)
INDEPENDENT = "Output seems independent of input."


class Depth(threading.local):
    """How many functions of this thread are being recorded around the current one."""

    count = 0


depth = Depth()


@contextmanager
def tracing() -> Iterator[None]:
    """A region in which operators give boxes."""
    depth.count += 1
    try:
        with enable_grad():
            yield
    finally:
        depth.count -= 1


def finished(value: Any) -> Any:
    """A result as the caller sees it: NOTE [HIPS's conventions], rule 2."""
    if depth.count:
        return value
    return pytree.map_leaves(
        lambda part: plain(part._tensor) if isinstance(part, ArrayBox) else part, value
    )


def differentiable(leaf: Any) -> bool:
    """Whether a gradient can be taken of a leaf."""
    if isinstance(leaf, (float, complex, ArrayBox)):
        return True
    return isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fc"


def argument(x: Any) -> Any:
    """What a function is differentiated by; TypeError for a single value that has no gradient."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "iub":
        return x.astype(np.float64)
    if not isinstance(x, (list, tuple, dict)) and not differentiable(x):
        raise TypeError(NOT_DIFFERENTIABLE.format(kind=type(x)))
    return x


class Recording:
    """A function of one argument, run and recorded; `vjp` goes back, any number of times."""

    def __init__(self, fun: Callable[[Any], Any], x: Any) -> None:
        self.x = x = argument(x)
        with tracing():
            self.inputs = [
                variable(leaf) if differentiable(leaf) else leaf for leaf in pytree.flatten(x)
            ]
            self.answer = fun(
                pytree.unflatten(
                    x,
                    [
                        ArrayBox(part) if differentiable(leaf) else leaf
                        for leaf, part in zip(pytree.flatten(x), self.inputs, strict=True)
                    ],
                )
            )
        if not any(isinstance(part, ArrayBox) for part in pytree.flatten(self.answer)):
            warnings.warn(INDEPENDENT, stacklevel=4)

    def vjp(self, g: Any) -> Any:
        """The gradient of <g, answer>, built like the argument; `g` is built like the answer."""
        outputs, seeds = [], []
        for part, seed in zip(pytree.flatten(self.answer), pytree.flatten(g), strict=True):
            if isinstance(part, ArrayBox) and part._tensor.requires_grad:
                outputs.append(part._tensor)
                seeds.append(fitted(conj(tensor_of(seed)), part._tensor))
        leaves = pytree.flatten(self.x)
        wanted = [t for t, leaf in zip(self.inputs, leaves, strict=True) if differentiable(leaf)]
        found: Any = [None] * len(wanted)
        if outputs and wanted:
            found = gradients(
                outputs,
                wanted,
                seeds,
                retain_graph=True,
                create_graph=depth.count > 0,
                allow_unused=True,
            )
        grads = iter(
            zeros_like(t) if g is None else conj(g) for t, g in zip(wanted, found, strict=True)
        )
        return pytree.unflatten(
            self.x,
            [
                finished(boxed(next(grads))) if differentiable(leaf) else np.zeros(np.shape(leaf))
                for leaf in leaves
            ],
        )


def variable(leaf: Any) -> Tensor:
    """A tensor of its own for a leaf, which gradients are taken of and which goes on recording."""
    tensor = tensor_of(leaf).clone()
    return tensor if tensor.requires_grad else tensor.requires_grad_()


def fitted(seed: Tensor, like: Tensor) -> Tensor:
    """A cotangent in the dtype of a result; ValueError for one of another shape."""
    if seed.shape != like.shape:
        raise ValueError(OTHER_SHAPE.format(given=tuple(seed.shape), wanted=tuple(like.shape)))
    if seed.is_complex() and not like.is_complex():
        seed = seed.real
    return seed.to(like.dtype)


def forward(fun: Callable[[Any], Any], x: Any, v: Any) -> tuple[Any, Any]:
    """The value of a function of one argument and its derivative along `v`, built like `x`."""
    x = argument(x)
    leaves = pytree.flatten(x)
    chosen = [place for place, leaf in enumerate(leaves) if differentiable(leaf)]
    primals = [tensor_of(leaves[place]) for place in chosen]
    directions = pytree.flatten(v)
    tangents = [
        fitted(tensor_of(directions[place]), primal)
        for place, primal in zip(chosen, primals, strict=True)
    ]
    answer: Any = None

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        nonlocal answer
        given = list(leaves)
        for place, tensor in zip(chosen, tensors, strict=True):
            given[place] = ArrayBox(tensor)
        answer = fun(pytree.unflatten(x, given))
        return tuple(map(tensor_of, pytree.flatten(answer)))

    with tracing():
        values, along = func.jvp(run, tuple(primals), tuple(tangents))
        found = (
            pytree.unflatten(answer, [boxed(part) for part in values]),
            pytree.unflatten(answer, [boxed(part) for part in along]),
        )
    return finished(found[0]), finished(found[1])
