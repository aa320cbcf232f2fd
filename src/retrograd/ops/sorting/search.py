"""Where and whether: membership, places of nonzero elements, places in a grid. No derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import as_tensor
from ...engine.tensor import Tensor, new_tensor, wrap
from ...kernels.allocation import full, has_values, table
from ..core.arguments import public
from .sort import nonzero

__all__ = ["isin", "nonzero_static", "unravel_index"]


@public(out=True)
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each of `elements` is among `test_elements` (is not, if `invert`); booleans.

    One of the two may be a number. `assume_unique` changes nothing. Raises TypeError for two
    numbers, RuntimeError for complex tensors.

    >>> rg.isin(rg.tensor([1, 2, 3]), rg.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    given = elements if isinstance(elements, Tensor) else test_elements
    if not isinstance(given, Tensor):
        raise TypeError(
            "isin() received an invalid combination of arguments: one of elements and "
            f"test_elements must be a Tensor, not {type(elements).__name__} and "
            f"{type(test_elements).__name__}"
        )
    x, y = (as_tensor(value, given._array.dtype)._array for value in (elements, test_elements))
    for array in (x, y):
        if array.dtype.kind == "c":
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {dtypes.legacy_name(array.dtype)}"
            )
    return wrap(np.isin(*dtypes.promote(x, y), invert=invert))


@public(out=True, methods="nonzero_static")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` indices of `nonzero`, `(size, ndim)`, filled up with `fill_value`.

    Raises RuntimeError for a negative size.

    >>> rg.nonzero_static(rg.tensor([0, 5, 7]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    shape = (size, input._array.ndim)
    if not has_values(input._array):
        return new_tensor(table(input._array, np.zeros(shape, np.int64)))
    found = nonzero(input)._array[:size]
    padded = full(found, shape, fill_value)
    padded[: len(found)] = found
    return new_tensor(padded)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The index along each dimension of `shape` for places in the flattened tensor.

    Places count modulo the number of elements. Raises TypeError for indices that are no integers,
    ValueError for negative sizes, RuntimeError for indices into nothing.

    >>> rg.unravel_index(rg.tensor([5, 1]), (2, 3))
    (tensor([1, 0]), tensor([2, 1]))
    """
    if not isinstance(indices, Tensor) or indices._array.dtype.kind not in "iu":
        found = getattr(indices, "dtype", type(indices).__name__)
        raise TypeError(f"expected 'indices' to be integer dtype, but got {found}")
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if isinstance(shape, Tensor) or not all(isinstance(n, (int, np.integer)) for n in sizes):
        several = isinstance(shape, (tuple, list))
        wanted = "sequence to only contain ints" if several else "to be int or sequence"
        raise TypeError(f"expected 'shape' {wanted}, but got {shape!r}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if 0 in sizes and indices._array.size:
        raise RuntimeError(f"ZeroDivisionError: no index has a place in the shape {sizes}")
    places = indices._array.astype(np.int64, copy=False)[..., None]
    steps = [math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
    divisors, moduli = table(places, np.maximum(np.array([steps, sizes], np.int64), 1))
    places = places // divisors % moduli
    return tuple([wrap(places[..., dim]) for dim in range(len(sizes))])
