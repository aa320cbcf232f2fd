"""Selection and search: the k-th smallest, places in sorted rows, and maxima of bags of rows.

What loops here does so over the bits of a size, never over rows or elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .allocation import table, zeros
from .native import order
from .sums import by_segment


def comparable(x: Any) -> Any:
    """`x`, or in float32 what is bfloat16: that NumPy sorts as if NaN were equal to everything."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def ranked(x: Any, axis: int, descending: bool = False) -> Any:
    """The indices that sort `x`, equal elements in their order, NaN as the largest."""
    x = comparable(x)
    found = order.ranked(x, axis, descending)
    if found is not None:
        return found
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return x.shape[axis] - 1 - backwards


def searched(rows: Any, values: Any, side: Any) -> Any:
    """Where `values` would go in `rows`, sorted along the last axis: int64, shaped like `values`.

    `rows` has one dimension, or as many leading ones as `values`. NaN goes behind every number.
    """
    rows, values = comparable(rows), comparable(values)
    n = rows.shape[-1]
    if rows.size == n:
        return np.searchsorted(rows.reshape(-1), values, side)
    last = values != values  # noqa: PLR0124 (NaN)
    place = zeros(values, values.shape, np.int64)
    for bit in reversed(range(n.bit_length())):  # all rows at once, from the largest step down
        further = place + (1 << bit)
        seen = np.take_along_axis(rows, np.minimum(further, n) - 1, -1)
        if side == "left":
            passed = (seen < values) | (last & (seen == seen))  # noqa: PLR0124 (NaN)
        else:
            passed = (seen <= values) | last
        place = np.where(passed & (further <= n), further, place)
    return place


def kth(x: Any, axis: int, k: int) -> Any:
    """The places of the `k`-th smallest, counted from 1, equal elements in order and NaN last.

    What a stable sort would name, for the price of a selection. The axis is kept, of size 1.
    """
    x = comparable(x)
    found = order.kth(x, axis, k)
    if found is not None:
        return found
    value = np.partition(x, k - 1, axis).take([k - 1], axis)
    nan = np.isnan(x)
    smaller = np.where(np.isnan(value), ~nan, x < value)
    equal = np.where(np.isnan(value), nan, x == value)
    number = np.cumsum(equal, axis) + np.add.reduce(smaller, axis, np.int64, keepdims=True)
    return np.argmax(number >= k, axis, keepdims=True)


def first_largest(rows: Any, starts: Any) -> Any:
    """In which row each column of a bag is largest, the first of several: `(bags, columns)`.

    Bag i is the rows from `starts[i]` to the next start; none is empty. NaN is largest.
    """
    sizes = table(rows, np.diff(starts, append=len(rows)))
    bags = np.repeat(table(rows, np.arange(len(starts))), sizes)
    starts = table(rows, starts)
    best = by_segment(np.maximum, rows, starts, bags)[bags]
    hit = (rows == best) | np.isnan(rows)
    number = np.where(hit, table(rows, np.arange(len(rows))[:, None]), len(rows))
    return by_segment(np.minimum, number, starts, bags)
