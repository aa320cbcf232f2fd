"""Finite differences of functions of tensors: the numerical side of `gradcheck`.

This module knows nothing of graphs; it calls functions and looks at what they return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from ...ops.tensor.inspection import strided

PERTURBED = (
    "Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, "
    "but got: {what}s {up} and {down}. A function that changes them has no derivative there."
)

NO_TENSOR = (
    "The function returned a value of type {kind}, whose derivative cannot be checked. Return a "
    "tensor or a tuple of tensors, without .item(), float() or .numpy() on the way"
)
SPARSE = (
    "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the "
    "output of fn for gradcheck."
)


class Check(NamedTuple):
    """A function with its arguments, and how one call compares its derivatives."""

    func: Callable[..., Any]
    arguments: Sequence[Any]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool  # whether those of gradients count
    fast: bool

    def changes(self, x: Tensor, step: Any, outputs: Any) -> list[Any]:
        """How fast the outputs change along a step of an argument."""
        return difference(self.func, self.arguments, x._array, step, self.eps, outputs)

    def jacobian(self, x: Tensor, number: int, outputs: Any = None) -> Any:
        """What `numerical_jacobian` gives for an argument."""
        chosen = outputs or differentiable_outputs
        return numerical_jacobian(self.func, self.arguments, x, number, self.eps, chosen)

    def agree(self, one: Any, other: Any, scale: float = 1.0) -> bool:
        """Whether numbers of that scale are equal within the tolerances."""
        return np.allclose(one, other, self.rtol, self.atol * scale)


def as_outputs(result: Any) -> list[Tensor]:
    """The tensors that a function returned, in order.

    Raises TypeError for whatever else it returned, and ValueError for a sparse tensor: neither has
    a derivative that could be compared.
    """
    values = result if isinstance(result, (tuple, list)) else (result,)
    for value in values:
        if not isinstance(value, Tensor):
            raise TypeError(NO_TENSOR.format(kind=type(value).__name__))
        if value.layout is not strided:
            raise ValueError(SPARSE)
    return list(values)


def differentiable_outputs(result: Any) -> list[Tensor]:
    """The tensors that a function returned and that have a history."""
    return [t for t in as_outputs(result) if t._node is not None]


def floating_outputs(result: Any) -> list[Tensor]:
    """The real and complex tensors that a function returned."""
    return [t for t in as_outputs(result) if t._array.dtype.kind in "fcV"]


def directions(array: Any) -> list[complex]:
    """The unit steps of an element of an input."""
    return [1.0, 1j] if array.dtype.kind == "c" else [1.0]


def units(array: Any, direction: complex) -> Iterator[Any]:
    """A step along each element of an array, one at a time."""
    for index in np.ndindex(array.shape):
        step = np.zeros(array.shape, array.dtype)
        step[index] = direction
        yield step


def difference(
    func: Callable[..., Any],
    arguments: Sequence[Any],
    array: Any,
    step: Any,
    eps: float,
    outputs: Callable[[Any], list[Tensor]],
) -> list[Any]:
    """(func(x + eps·step) - func(x - eps·step)) / 2eps where `array` holds x, for some outputs.

    `outputs` picks them. Raises AssertionError if their shapes or dtypes depend on the step.
    """
    kept = array.copy()
    values = []
    try:
        for sign in (1, -1):
            array[...] = kept + sign * eps * step
            values.append([np.array(t._array) for t in outputs(func(*arguments))])
    finally:
        array[...] = kept
    for up, down in zip(*values, strict=True):
        for what in ("shape", "dtype"):
            a, b = getattr(up, what), getattr(down, what)
            if a != b:
                raise AssertionError(PERTURBED.format(what=what, eps=eps, up=a, down=b))
    return [(up - down) / (2 * eps) for up, down in zip(*values, strict=True)]


def numerical_jacobian(
    func: Callable[..., Any],
    arguments: Sequence[Any],
    x: Tensor,
    number: int,
    eps: float,
    outputs: Callable[[Any], list[Tensor]] = differentiable_outputs,
) -> Any:
    """The change of an output per unit of each element of x: (directions, elements, outputs)."""
    steps = directions(x._array)
    rows = []
    for direction in steps:
        for step in units(x._array, direction):
            rows.append(difference(func, arguments, x._array, step, eps, outputs)[number].ravel())
    size = len(rows) // len(steps) if rows else 0
    return np.array(rows).reshape(len(steps), size, -1) if rows else np.zeros((len(steps), 0, 0))


def printable(values: Any) -> Any:
    """What a text shows: a tensor of an array, as PyTorch does; a number as it is."""
    return new_tensor(values) if np.ndim(values) else values
