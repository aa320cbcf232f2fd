"""Reading and writing along one dimension by index arrays: the structure under gather and sort.

`take_along` reads, `put_along` is its adjoint and adds, `place_along` stores where no index
repeats. All are raw in their arguments: `dim` counts from the front, indices are not negative, and
where they are read by, bounds are the caller's business. In dimensions other than `dim` the index
may be smaller than the array, whose first entries then take part, as in PyTorch's `gather`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...engine.registry import declare, example
from ...kernels import memory, sums
from ...kernels.allocation import is_numpy, table, zeros
from ...kernels.native import places as by_loops
from ...kernels.native.places import highest
from ...kernels.native.small import quick


@lru_cache(maxsize=256)
def mesh(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """For each dimension the numbers of its entries, which broadcast to `shape` together."""
    return tuple(np.ogrid[tuple([slice(n) for n in shape])])


def check_bounded(index: Any, size: int, dim: int) -> None:
    """Raise unless all of `index` are places along a dimension of that size."""
    if not index.size or (index.dtype == np.int64 and highest(index) < size):  # at once
        return
    low, high = index.min(), index.max()
    if low < 0 or high >= size:
        raise RuntimeError(
            f"index {low if low < 0 else high} is out of bounds for dimension {dim} with size "
            f"{size}"
        )


def pick(array: Any, index: Any, dim: int) -> Any:
    """The entries that `index` names along `dim`; twice as fast as NumPy's `take_along_axis`."""
    others = mesh(index.shape)
    return array[(*others[:dim], index, *others[dim + 1 :])]


def store(out: Any, index: Any, values: Any, dim: int) -> None:
    """Write `values` to the entries of `out` that `index` names along `dim`."""
    target, places = np.atleast_1d(out), np.atleast_1d(index)
    others = mesh(places.shape)
    target[(*others[:dim], places, *others[dim + 1 :])] = values


def in_rows(index: Any, dim: int, shape: tuple[int, ...]) -> bool:
    """Whether `index` names entries along the last dimension, in each row of an array."""
    return dim == len(shape) - 1 and index.shape[:-1] == shape[:-1]


@quick("gather")
def taken_along(input: Any, index: Any, *, dim: int) -> Any:
    """The entries of `input` that `index` names along `dim`: the forward of `gather`."""
    if in_rows(index, dim, input.shape):
        found = by_loops.gather(input, index, math.prod(input.shape[:-1]), input.shape[-1])
        if found is not None:
            return found
    places = np.atleast_1d(memory.in_rows(index))
    return pick(np.atleast_1d(input), places, dim).reshape(index.shape)


def flat_places(index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """Where in a raveled array of `shape` each entry of `index` points, raveled."""
    if is_numpy(index):  # formulas ask, too: what a node saved may have been overwritten unseen
        check_bounded(index, shape[dim], dim)
    grid = [table(index, numbers) for numbers in mesh(index.shape)]
    grid[dim] = index
    step = 1
    places: Any = 0
    for i in range(len(shape) - 1, -1, -1):
        places = places + grid[i] * step
        step *= shape[i]
    return np.ravel(places)


def added_along(onto: Any, values: Any, index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """`onto`, or zeros of `shape`, with each of `values` added at its `index` along `dim`."""
    if in_rows(index, dim, shape):
        out = zeros(values, shape) if onto is None else onto.copy()
        if by_loops.scatter_add(out, values, index, math.prod(shape[:-1]), shape[-1]):
            return out
    places = flat_places(np.atleast_1d(index), dim, shape or (1,))
    start = None if onto is None else np.ravel(onto)
    return sums.scattered(np.ravel(values), places, math.prod(shape), start).reshape(shape)


def _place_along(input: Any, index: Any, *, dim: int, shape: tuple[int, ...]) -> Any:
    if is_numpy(index):
        check_bounded(index, shape[dim] if shape else 1, dim)
    out = zeros(input, shape)
    store(out, index, input, dim)
    return out


take_along = declare(
    "take_along(input, index, *, dim)",
    taken_along,
    input=lambda xp, g, index, dim, input_shape: xp.put_along(g, index, dim=dim, shape=input_shape),
    moves="input",
    examples=[
        example("3x4, 2x4:int<3", dim=0),
        example("3x4, 2x6:int<4", dim=1),
        example("2x3x2, 2x5x1:int<3", dim=1),
        example("3, 0:int<3", dim=0),
        example(", 2:int<1", dim=0),
        example("3, :int<3", dim=0),
    ],
    node_name="GatherBackward0",
    doc="""`input` at `index` along `dim`; the result has the index's shape.""",
)

put_along = declare(
    "put_along(input, index, *, dim, shape)",
    lambda input, index, *, dim, shape: added_along(None, input, index, dim, shape),
    input=lambda xp, g, index, dim: xp.take_along(g, index, dim=dim),
    moves="input",
    examples=[
        example("2x4, 2x4:int<3", dim=0, shape=(3, 4)),
        example("2x2, 2x2:int<4", dim=1, shape=(3, 4)),
        example("0, 0:int<3", dim=0, shape=(3,)),
        example(", :int<1", dim=0, shape=()),
    ],
    node_name="ScatterAddBackward0",
    doc="""Zeros of `shape` with each entry of `input` added at its `index` along `dim`.""",
)

place_along = declare(
    "place_along(input, index, *, dim, shape)",
    _place_along,
    input=lambda xp, g, index, dim: xp.take_along(g, index, dim=dim),
    moves="input",
    examples=[
        example("1x4, 1x4:int<3", dim=0, shape=(3, 4)),
        example("3x1, 3x1:int<4", dim=1, shape=(3, 4)),
        example(", :int<1", dim=0, shape=()),
    ],
    node_name="ScatterBackward0",
    doc="""`put_along` where no index repeats along `dim`: it stores instead of adding, faster.""",
)
