"""How the standard reads arguments: promotion of two arrays, Python scalars, `axis`.

NOTE [Differences]
1. A 0-d array takes part in promotion like any other; PyTorch lets it change only the kind.
2. A Python scalar beside an array takes the array's dtype, on either side of it.
3. `axis=()` reduces over nothing; PyTorch reduces over everything.
4. The standard leaves the order of complex numbers open. It is NumPy's: by real, then imaginary
   parts. PyTorch has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...dtypes import promote_numpy
from ...engine.dispatch import as_tensor
from ...engine.tensor import Tensor
from ...ops.tensor.conversion import convert

__all__ = ["binary", "flat", "numpys_order", "one_axis", "pair", "promoted", "reduced", "shape_of"]


def pair(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two arrays, or an array and a scalar, as tensors of their common dtype: rules 1 and 2.

    Raises TypeError where neither is an array.
    """
    if not isinstance(x1, Tensor):
        if not isinstance(x2, Tensor):
            raise TypeError(
                f"expected at least one tensor, got {type(x1).__name__} and {type(x2).__name__}. "
                "Make one first: x = retrograd.asarray(x)"
            )
        x1 = as_tensor(x1, x2._array.dtype)
    elif not isinstance(x2, Tensor):
        x2 = as_tensor(x2, x1._array.dtype)
    first, second = promoted([x1, x2])
    return first, second


def promoted(arrays: Any) -> list[Tensor]:
    """Arrays converted to their common dtype, which is recorded: rule 1."""
    arrays = list(arrays)
    found = {x._array.dtype for x in arrays}
    if len(found) < 2:
        return arrays
    target, *others = found
    for other in others:
        target = promote_numpy(target, other)
    return [convert(x, target) for x in arrays]


def binary(
    function: Callable[..., Any],
    name: str,
    summary: str,
    result: str,
    example: str = "4, 2",
    mirrored: Callable[..., Any] | None = None,
) -> Any:
    """The standard's function `name` of two arrays, or of an array and a scalar.

    `result` is what its doctest shows for the elements `example` and [2, 1]. A comparison has one
    that is `mirrored`: then a scalar counts as the number that it is, whatever the dtype holds.
    """
    path = f"linalg.{name}" if name == "outer" else name

    def call(x1: Any, x2: Any, /) -> Tensor:
        if mirrored and isinstance(x1, int) and isinstance(x2, Tensor):
            return mirrored(x2, x1)
        if not (mirrored and isinstance(x2, int) and isinstance(x1, Tensor)):
            x1, x2 = pair(x1, x2)
        return function(x1, x2)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    One of the two may be a Python scalar.

    >>> xp.{path}(xp.asarray([{example}]), xp.asarray([2, 1]))
    {result}
    """
    return call


def reduced(function: Any, x: Tensor, axis: Any, keepdims: bool, **params: Any) -> Tensor:
    """A reduction of PyTorch's over the standard's `axis`: rule 3."""
    if isinstance(axis, tuple) and not axis:
        return function(x.unsqueeze(-1), dim=-1, keepdim=False, **params)
    return function(x, dim=axis, keepdim=keepdims, **params)


def numpys_order(x: Tensor) -> dict[str, str]:
    """What tells a function of PyTorch's the order of the elements of `x`: rule 4."""
    return {"by": "lexicographic"} if x._array.dtype.kind == "c" else {}


def one_axis(x: Tensor, axis: int | None, name: str) -> tuple[Tensor, int]:
    """The array and the axis of a function along one axis, which only 1-D arrays may leave out.

    Raises ValueError where another leaves it out.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"{name}(): axis may be left out only for a 1-D array, but this one has shape "
                f"{list(x.shape)}. Say which: axis=0"
            )
        axis = 0
    return x, axis


def flat(a: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """The array and an axis: flattened, if none is given."""
    return (a.reshape(-1), 0) if axis is None else (a, axis)


def shape_of(shape: Any) -> tuple[int, ...]:
    """The shape given as an integer or as a sequence of them."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def length_of(start: Any, stop: Any, step: Any) -> int:
    """How many numbers lie from `start` to before `stop`; none if `step` leads away from it."""
    return max(math.ceil((stop - start) / step), 0)
