"""Searching, sorting, sets and indexing, under the standard's names.

NOTE [Sets]
Every NaN counts as an element of its own. Values come with their gradient, since they are elements
of the array; inverse indices and counts have none.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ... import ops
from ...engine.tensor import Tensor, new_tensor
from .arguments import numpys_order, one_axis, pair

__all__ = [
    "argmax", "argmin", "argsort", "nonzero", "searchsorted", "sort", "take", "take_along_axis",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "where",
]  # fmt: skip

UniqueAll = namedtuple("UniqueAll", ["values", "indices", "inverse_indices", "counts"])
UniqueCounts = namedtuple("UniqueCounts", ["values", "counts"])
UniqueInverse = namedtuple("UniqueInverse", ["values", "inverse_indices"])


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the first largest element along `axis`, or in the flattened array.

    >>> xp.argmax(xp.asarray([1, 3, 2]))
    tensor(1)
    """
    return ops.argmax(x, axis, keepdims, **numpys_order(x))


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the first smallest element along `axis`, or in the flattened array.

    >>> xp.argmin(xp.asarray([2, 1, 3]))
    tensor(1)
    """
    return ops.argmin(x, axis, keepdims, **numpys_order(x))


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of the elements that are not zero, an array for each axis.

    Raises ValueError for a 0-d array.

    >>> xp.nonzero(xp.asarray([0, 5, 7]))
    (tensor([1, 2]),)
    """
    if x.ndim == 0:
        raise ValueError("nonzero() of a 0-d array, which has no places. Compare it: x != 0")
    return ops.nonzero(x, as_tuple=True)


def searchsorted(
    x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """The places where the elements of `x2` belong in the sorted 1-D array `x1`.

    Before equal ones if `side` is "left", after them if "right"; `sorter` are the places that sort
    `x1`.

    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]))
    tensor([1, 2])
    """
    return ops.searchsorted(*pair(x1, x2), side=side, sorter=sorter)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """`x1` where the condition holds, else `x2`; one of them may be a Python scalar.

    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)
    tensor([1, 0])
    """
    if condition._array.dtype != np.bool_:
        condition = condition != 0
    if isinstance(x1, Tensor) or isinstance(x2, Tensor):
        x1, x2 = pair(x1, x2)
    return ops.where(condition, x1, x2)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along `axis`.

    >>> xp.sort(xp.asarray([2, 3, 1]), descending=True)
    tensor([3, 2, 1])
    """
    return ops.sort(x, axis, descending, stable=stable, **numpys_order(x)).values


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The places that sort the elements along `axis`.

    >>> xp.argsort(xp.asarray([2, 3, 1]))
    tensor([2, 0, 1])
    """
    return ops.argsort(x, axis, descending, stable=stable, **numpys_order(x))


def unique_all(x: Tensor, /) -> Any:
    """The different elements in order, where each is first, which one each is, and how many.

    A named tuple of values, indices, inverse_indices and counts: NOTE [Sets].

    >>> xp.unique_all(xp.asarray([3, 1, 3])).counts
    tensor([1, 2])
    """
    _, *found = np.unique(
        x._array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    indices, inverse, counts = map(new_tensor, found)
    return UniqueAll(x.reshape(-1)[indices], indices, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> Any:
    """The different elements in order, and how many of each: NOTE [Sets].

    >>> values, counts = xp.unique_counts(xp.asarray([3, 1, 3]))
    >>> values, counts
    (tensor([1, 3]), tensor([1, 2]))
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> Any:
    """The different elements in order, and which of them each element is: NOTE [Sets].

    >>> values, inverse = xp.unique_inverse(xp.asarray([3, 1, 3]))
    >>> inverse
    tensor([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements in order: NOTE [Sets].

    >>> xp.unique_values(xp.asarray([3, 1, 3]))
    tensor([1, 3])
    """
    return unique_all(x).values


def take(x: Tensor, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """The parts of an array at `indices` along `axis`, which only 1-D arrays may leave out.

    Indices may be negative. Raises IndexError out of range, ValueError for a missing axis.

    >>> xp.take(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 0]), axis=1)
    tensor([[2, 1],
            [4, 3]])
    """
    x, axis = one_axis(x, axis, "take")
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"take(): axis {axis} of an array with {x.ndim} dimensions")
    return x[(slice(None),) * (axis % x.ndim) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements at `indices` along `axis`, both arrays broadcast on the other axes.

    Indices may be negative.

    >>> xp.take_along_axis(xp.asarray([[1, 2], [3, 4]]), xp.asarray([[1], [-2]]))
    tensor([[2],
            [3]])
    """
    places = ops.where(indices < 0, indices + x.shape[axis], indices)
    return ops.take_along_dim(x, places, axis)
