"""Which places elements have in order, by the loops in C: NOTE [Sorting] in `sort.c`.

Each function gives None for what they do not take, or would take as long for as NumPy does: few
elements, short rows, integers of few bits, arrays that are not NumPy's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native

LARGE = 4096  # elements: below it, the calls here cost more than they save
LONG = 64  # elements of a row: below it, NumPy compares them as quickly


def ranked(x: Any, axis: int, descending: bool) -> Any:
    """The indices that sort `x`, equal elements in their order, NaN as the largest."""
    return by_rows(native.loops and native.loops.rank, x, axis, x.shape[axis], descending)


def first(x: Any, axis: int, k: int, descending: bool) -> Any:
    """The first `k` of the indices that sort `x`, in the order of the elements."""
    return by_rows(native.loops and native.loops.select, x, axis, k, k, descending)


def kth(x: Any, axis: int, k: int) -> Any:
    """The `k`-th of the indices that sort `x`, counted from 1; the axis is kept, of size 1."""
    return by_rows(native.loops and native.loops.select, x, axis, 1, k, False)


def by_rows(loop: Any, x: Any, axis: int, count: int, *args: Any) -> Any:
    """What a loop gives for rows along an axis, so many indices for each."""
    if loop is None or x.__class__ is not np.ndarray or x.size < LARGE or x.shape[axis] < LONG:
        return None
    kind, size = x.dtype.kind, x.dtype.itemsize
    if size > 8 or not (kind == "f" or (kind in "iu" and size >= 4)) or not x.dtype.isnative:
        return None
    if not x.flags.aligned:
        return None
    rows = np.ascontiguousarray(x.swapaxes(axis, -1))
    out = np.empty((*rows.shape[:-1], count), np.int64)
    loop(out, rows, *args)
    return np.ascontiguousarray(out.swapaxes(axis, -1))
